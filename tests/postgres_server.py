"""A real PostgreSQL server for tests: its own folder, a unix socket, no port."""

import glob
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WHERE = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin")
NOT_FOUND = (
    "NO POSTGRESQL: initdb was not found, so the ledger was NOT tested on PostgreSQL; install the "
    "server (Debian: apt-get install postgresql)"
)


def binaries() -> Path | None:
    """The folder of initdb and postgres."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    there = sorted(path for pattern in WHERE for path in glob.glob(pattern))
    return next((Path(path) for path in reversed(there) if Path(path, "initdb").exists()), None)


def _unprivileged() -> list[str]:
    """The server refuses to run as root; its packages have a user for it."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]


class Server:
    """A server that can be stopped and started again."""

    def __init__(self, folder: Path, bin: Path) -> None:
        self.folder, self._bin = folder, bin
        self.url = f"postgresql://postgres@/postgres?host={folder}"
        self._run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "postgres", "-N")
        self.start()

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}'"
        log = str(self.folder / "log")
        self._run(
            "pg_ctl", "-D", str(self.folder / "data"), "-l", log, "-w", "-o", options, "start"
        )

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", mode, "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = [*_unprivileged(), str(self._bin / program), *arguments]
        done = subprocess.run(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stdout.decode()[-2000:]}")


@contextmanager
def running() -> Iterator[Server]:
    """A new server, gone afterwards."""
    bin = binaries()
    if bin is None:
        raise FileNotFoundError(NOT_FOUND)
    # The name of a socket may have about a hundred characters: not below pytest's long names.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        server = Server(folder, bin)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
