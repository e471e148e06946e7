"""Run the benchmarks one after the other and collect their figures.

    python benchmarks/run.py --text TEXT.jsonl.gz --output FOLDER

Each compares with a named baseline in the same run; see the scripts for what that is. Nothing else
should be running. Without --text the comparison that needs a corpus is left out.
"""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Run every benchmark; stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, help="jsonl with a field text, such as SST-2")
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    commands = {"purkayastha": [], "deep_candidate": [], "noisy_nearest": [], "user_entity": []}
    if arguments.text:
        commands["santext"] = [str(arguments.text)]
    for name, extra in commands.items():
        print(f"--- {name}", flush=True)
        result = arguments.output / f"{name}.json"
        script = HERE / f"{name}.py"
        subprocess.run([sys.executable, script, *extra, "--output", result], check=True)


if __name__ == "__main__":
    main()
