"""What the time of a release tells about the word: a table for the page on verification.

``python scripts/measure_timing.py [--space starter] [--epsilon 8] [--releases 400]``

For each word mechanism a single word is released again and again, for the words that take the
least and the most time among a sample. The observer sees the processor time of one release (the
thread's own clock: what somebody sees from outside is noisier) and says which of the two words it
was, by the best threshold found on one half of the releases; how often that is right is counted on
the other half. 50 % is guessing. The last column is the same for two texts of a hundred words.
"""

import argparse
import time

import numpy as np

from discreet.errors import DiscreetError
from discreet.mechanisms.registry import entries
from discreet.randomness import secure_generator
from discreet.spaces.loaders import load_space

SAMPLE, FIRST_LOOK = 40, 25


def times_of(mechanism, inputs: list[np.ndarray], releases: int) -> np.ndarray:
    """Nanoseconds of so many releases of each input, in turns: the machine's mood changes."""
    rng, taken = secure_generator(), np.empty((len(inputs), releases))
    for release in range(releases):
        for place in rng.permutation(len(inputs)):
            before = time.thread_time_ns()
            mechanism.release(inputs[place], rng)
            taken[place, release] = time.thread_time_ns() - before
    return taken


def told_apart(first: np.ndarray, second: np.ndarray) -> float:
    """How often the best threshold of the even releases is right on the odd ones."""
    seen = np.sort(np.concatenate([first[::2], second[::2]]))
    right = [(first[::2] <= t).mean() + (second[::2] > t).mean() for t in seen]
    threshold = seen[int(np.argmax(right))]
    return float(((first[1::2] <= threshold).mean() + (second[1::2] > threshold).mean()) / 2)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--space", default="starter")
    parser.add_argument("--epsilon", type=float, default=8.0)
    parser.add_argument("--releases", type=int, default=400)
    options = parser.parse_args()
    space = load_space(options.space)
    words = [np.array([word]) for word in np.linspace(1, len(space) - 1, SAMPLE).astype(int)]
    print("| mechanism | fastest word | slowest word | told apart | 100 alike, 100 different |")
    print("|---|---|---|---|---|")
    for entry in entries("word"):
        given = {"space": space, "epsilon": options.epsilon, "delta": 1e-6, "clip": 1.0}
        given["dimension"] = 20
        wanted = {setting.name for setting in entry.settings} | {"space"}
        try:
            mechanism = entry.build({k: v for k, v in given.items() if k in wanted})
        except DiscreetError as error:
            print(f"| {entry.name} | not measured: {error} | | | |")
            continue
        times_of(mechanism, words[:1], FIRST_LOOK)  # what is made on first use
        order = np.argsort(np.median(times_of(mechanism, words, FIRST_LOOK), axis=1))
        pair = times_of(mechanism, [words[order[0]], words[order[-1]]], options.releases)
        texts = [np.full(100, 1), np.arange(1, 101)]
        whole = times_of(mechanism, texts, max(10, options.releases // 10))
        cells = [f"{median / 1e6:.3f} ms" for median in np.median(pair, axis=1)]
        cells += [f"{told_apart(*pair):.0%}", f"{told_apart(*whole):.0%}"]
        print(f"| {entry.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
