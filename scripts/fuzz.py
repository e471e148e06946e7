"""Feed hostile files to every reader, for as long as you like.

    python scripts/fuzz.py --inputs 1000000 [--seconds 900] [--seed 1] [--target csv] [--keep DIR]

The inputs are spread over the readers as in the tests (``tests/fuzzing.py``), with another seed.
What a reader does not refuse in a sentence of its own is written to ``--keep`` and ends the command
with 1; made as small as it will go, it belongs into ``tests/fuzz/corpus``. Inputs are read in a
child process: one that ends its process is kept and counted too, and a new child goes on behind it.
"""

import argparse
import hashlib
import multiprocessing
import random
import sys
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from fuzzing import TARGETS, fault_of, mutated, seeds

CHUNK = 5000
"""Inputs of one seed; a child that ended is started again behind the input that ended it."""


def inputs_of(seed: int, chunk: int, names: list[str], corpus: dict[str, list[bytes]]):
    """The inputs of a chunk: always the same for the same seed."""
    rng = random.Random(f"{seed} {chunk}")
    shares = [TARGETS[name].share for name in names]
    for _ in range(CHUNK):
        name = rng.choices(names, shares)[0]
        yield name, mutated(rng.choice(corpus[name]), rng)


def read_all(asked: Connection, listed: list[tuple[str, bytes]], behind: int) -> None:
    """In a child: says the number of each input before it is read, and what went wrong."""
    for number in range(behind, len(listed)):
        name, data = listed[number]
        asked.send((number, None))
        if fault := fault_of(TARGETS[name], data):
            asked.send((number, fault))


def main() -> int:
    """Run, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--keep", type=Path, default=Path("out/fuzz"))
    options = parser.parse_args()
    names = options.target or list(TARGETS)
    corpus = {name: seeds(name) for name in names}
    made: Counter[str] = Counter()
    found: Counter[str] = Counter()
    begun = time.monotonic()
    forked = multiprocessing.get_context("fork")
    for chunk in range(-(-options.inputs // CHUNK)):
        if time.monotonic() - begun > options.seconds:
            break
        listed = list(inputs_of(options.seed, chunk, names, corpus))
        made.update(name for name, _ in listed)
        behind = 0
        while behind < CHUNK:
            told, asked = forked.Pipe(duplex=False)
            child = forked.Process(target=read_all, args=(asked, listed, behind))
            child.start()
            asked.close()
            faults = {}
            last = behind
            try:
                while True:
                    last, fault = told.recv()
                    if fault is not None:
                        faults[last] = fault
            except EOFError:
                child.join()
            if child.exitcode:
                faults[last] = f"ended its process ({child.exitcode})"
            behind = last + 1 if child.exitcode else CHUNK
            for number, fault in faults.items():
                name, data = listed[number]
                found[name] += 1
                options.keep.mkdir(parents=True, exist_ok=True)
                kept = options.keep / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
                kept.write_bytes(data)
                print(f"{kept}: {fault}", flush=True)
        if chunk % 2 == 1:
            print(f"{(chunk + 1) * CHUNK:,} inputs, {sum(found.values())} faults", flush=True)
    for name in names:
        print(f"{name:<16} {made[name]:>9,} inputs {found[name]:>6} faults")
    print(f"{sum(made.values()):,} inputs in {time.monotonic() - begun:.0f} s, seed {options.seed}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
