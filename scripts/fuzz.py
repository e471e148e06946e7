"""Feed hostile files to every reader, for as long as you like.

    python scripts/fuzz.py --inputs 1000000 [--seconds 900] [--seed 1] [--target csv] [--keep DIR]

The inputs are spread over the readers as in the tests (``tests/fuzzing.py``), with another seed.
What a reader does not refuse in a sentence of its own is written to ``--keep`` and ends the command
with 1; made as small as it will go, it belongs into ``tests/fuzz/corpus``.
"""

import argparse
import hashlib
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from fuzzing import TARGETS, fault_of, mutated, seeds


def main() -> int:
    """Run, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--keep", type=Path, default=Path("out/fuzz"))
    options = parser.parse_args()
    rng = random.Random(options.seed)
    names = options.target or list(TARGETS)
    corpus = {name: seeds(name) for name in names}
    shares = [TARGETS[name].share for name in names]
    made: Counter[str] = Counter()
    found: Counter[str] = Counter()
    begun = time.monotonic()
    for number in range(options.inputs):
        if time.monotonic() - begun > options.seconds:
            break
        name = rng.choices(names, shares)[0]
        data = mutated(rng.choice(corpus[name]), rng)
        made[name] += 1
        if fault := fault_of(TARGETS[name], data):
            found[name] += 1
            options.keep.mkdir(parents=True, exist_ok=True)
            kept = options.keep / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
            kept.write_bytes(data)
            print(f"{kept}: {fault}", flush=True)
        if number % 10_000 == 9_999:
            print(f"{number + 1:,} inputs, {sum(found.values())} faults", flush=True)
    for name in names:
        print(f"{name:<16} {made[name]:>9,} inputs {found[name]:>6} faults")
    print(f"{sum(made.values()):,} inputs in {time.monotonic() - begun:.0f} s, seed {options.seed}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
