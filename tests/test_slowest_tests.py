"""The table of where the time of the tests went is of the record that they left."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "scripts" / "slowest_tests.py"
RECORD = """<testsuites><testsuite>
<testcase classname="tests.text.test_a" name="test_one" time="1.5"/>
<testcase classname="tests.text.test_b" name="test_two[x]" time="0.25"><failure/></testcase>
<testcase classname="src.discreet.check" name="discreet.check.whole" time="4"/>
</testsuite></testsuites>"""


def run(*arguments):
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_folders_add_up_and_the_slowest_come_first(tmp_path):
    record = tmp_path / "tests.xml"
    record.write_text(RECORD)
    done = run(record, "--count", 2)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()]
    assert rows[2:5] == [
        ["src/discreet", "1", "4.0"],
        ["tests/text", "2", "1.8"],
        ["together", "3", "5.8"],
    ]
    assert [row for row in rows if len(row) == 2][2:] == [
        ["4.0", "`src.discreet.check::discreet.check.whole`"],
        ["1.5", "`tests.text.test_a::test_one`"],
    ]


def test_without_a_record_it_says_what_makes_one(tmp_path):
    done = run(tmp_path / "none.xml")
    assert (done.returncode, "`make test` writes it" in done.stderr) == (2, True)
