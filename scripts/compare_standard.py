"""The comparison of the guide "Choose a mechanism": SST-2, AG News and Reuters 50 in one command.

    python scripts/compare_standard.py FOLDER -o REPORT [--quick] [options of compare]

FOLDER has sst2-*.jsonl.gz, agnews-*.jsonl.gz and reuters50-*.jsonl.gz. Each is compared by
'discreet compare' with its standard mechanisms into a folder of its own; REPORT/index.html shows
the three frontiers and leads to the three pages. They are made side by side, so that no core waits
for what one of them does alone. A run that was stopped goes on when it is started again.
"""

import argparse
import html
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PARTS = {
    "sst2": ("SST-2", "train", "dev", ("--label-field", "label")),
    "agnews": ("AG News", "test", "dev", ("--label-field", "label")),
    "reuters50": ("Reuters 50", "test", "train", ("--author-field", "author")),
}

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mechanisms compared</title>
<style>
body { margin: 1.5rem auto; padding: 0 1rem; max-width: 60rem; font: 1rem/1.55 sans-serif }
img { max-width: 100%; height: auto }
</style>
<h1>Mechanisms compared</h1>
<p>Upwards: what is left of the use. To the right: what attackers get who know the mechanism. The
pages behind the pictures have all figures, intervals and samples.</p>
SHOWN
</html>
"""


def compare(folder: Path, output: Path, name: str, more: list[str]) -> str:
    """One comparison, its lines under its name; what is to be said at the end."""
    title, texts, public, fields = PARTS[name]
    files = [str(folder / f"{name}-{part}.jsonl.gz") for part in (texts, public)]
    options = [*fields, "-o", str(output / name), *more]
    begun = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "discreet", "compare", files[0], "--public", files[1], *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout or ():
            print(f"{title}: {line}", end="", flush=True)
    ended = f"{(time.monotonic() - begun) / 60:.1f} minutes"
    return f"{title}: {ended}" if process.returncode == 0 else f"{title}: FAILED after {ended}"


def main() -> None:
    """Run them side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    given, more = parser.parse_known_args()
    given.output.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(given.only)) as pool:
        jobs = [pool.submit(compare, given.folder, given.output, name, more) for name in given.only]
    ended = [job.result() for job in jobs]
    print(*ended, sep="\n")
    if any("FAILED" in line for line in ended):
        sys.exit(1)
    shown = [
        f'<h2><a href="{name}/index.html">{html.escape(title)}</a></h2>'
        f'<a href="{name}/index.html"><img src="{name}/frontier.png" width="900" alt="What is left '
        f'of the use on {html.escape(title)}, against what attackers get"></a>'
        for name, (title, *_) in PARTS.items()
        if (given.output / name / "frontier.png").is_file()
    ]
    page = given.output / "index.html"
    page.write_text(PAGE.replace("SHOWN", "".join(shown)), "utf-8")
    print(f"Written: {page}")


if __name__ == "__main__":
    main()
