"""A playground over a small space, as an application and on a loopback port."""

import threading
import time
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from discreet.service.playground import routes
from discreet.spaces.loaders import load_space
from discreet.spaces.saved_files import save_space
from discreet.spaces.space import EmbeddingSpace

COMMON = 300
FURTHER = ("car", "mother")
TEXT = (
    "My mother Jane Roe was at the school on 3 May. The house is old, and I like the zyxwv.\n"
    "Write to jane@roe.example!"
)
"""Two lines with identifiers, public words, and a word that no vocabulary has."""


def small_space(folder: Path) -> Path:
    """The commonest words of the starter space and those that the tests look for, in a file."""
    starter = load_space("starter")
    ids = [*range(COMMON), *map(starter.id_of, FURTHER)]
    space = EmbeddingSpace.from_arrays(
        [starter.words[i] for i in ids],
        starter.vectors[ids],
        "test: some words of starter",
        name="few",
        frequencies=None if starter.frequencies is None else starter.frequencies[ids],
    )
    return save_space(space, folder / "few.safetensors")


@contextmanager
def served(space: Path):
    """The address of a playground that runs in a thread."""
    plain = {"log_level": "warning", "lifespan": "off", "ws": "none"}
    config = uvicorn.Config(Starlette(routes=routes(str(space))), host="127.0.0.1", port=0, **plain)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
