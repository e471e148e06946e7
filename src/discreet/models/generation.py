"""Text from a language model, as ``discreet train user-entity --model`` leaves one.

What a released model writes is a function of the model, so its guarantee stays as it is. A prompt
goes to the model as it is: nothing here protects prompts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from discreet import check
from discreet.devices import AUTO, CPU, device_of, find_device, moved, own_chance, room_for
from discreet.encoders.causal import first_mark, model_folder
from discreet.encoders.encoder import model_files_sha256, quiet_transformers
from discreet.errors import InvalidValue, NotFound, VerificationFailed, needs_extra, read_as
from discreet.files import plain_json
from discreet.receipt import Receipt, verified

_CONFIG = "adapter_config.json"
_SMALLER = "use fewer tokens, or --device cpu"


class TextWriter:
    """A trained model that goes on with a text.

    Args:
        network: a transformers causal model, its adapters in it.
        tokenizer: its tokenizer.
        receipt: of the training.
    """

    def __init__(self, network: Any, tokenizer: Any, receipt: Receipt) -> None:
        self._network, self._tokenizer, self.receipt = network.eval(), tokenizer, receipt

    @classmethod
    def load(cls, folder: Path, base: str | None = None, *, device: str = AUTO) -> Self:
        """The model of a run; its files and the model below are checked against the receipt.

        Args:
            folder: of the run.
            base: the model below: a folder, a GGUF file or ``"smollm2"``; None to take it from
                where the run found it.
            device: where it computes, see :func:`discreet.devices.find_device`.
        """
        where = find_device(device)
        _, receipt = verified(folder)
        adapters = (folder / _CONFIG).is_file()
        if not adapters and not (folder / "config.json").is_file():
            raise InvalidValue(
                f"{folder} holds no adapters: only runs of --model can write text, since the words "
                "of an AWD-LSTM come without spaces or case"
            )
        if not adapters:
            refuse_base(base)
        below = base_of(folder, receipt, base) if adapters else folder
        with needs_extra("writing text", "train"):
            from transformers import AutoModelForCausalLM, AutoTokenizer
        what = f"as adapters of {below.name}" if adapters else "as a language model"
        with read_as(f"{folder} cannot be opened {what}"), quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            network: Any = AutoModelForCausalLM.from_pretrained(
                below, local_files_only=True, use_safetensors=True, dtype=torch.float32
            )
            if adapters:
                from peft import PeftModel

                network = PeftModel.from_pretrained(
                    network, folder, local_files_only=True, torch_device=CPU
                )
        with room_for(f"the model {below.name}", "use --device cpu"):
            return cls(network.to(where), tokenizer, receipt)

    @torch.no_grad()
    def text(
        self,
        prompt: str,
        *,
        tokens: int = 60,
        temperature: float = 0.7,
        chat: bool = False,
        seed: int | None = None,
    ) -> str:
        """What follows the prompt, or the answer to it.

        Args:
            prompt: the beginning of a text; may be empty.
            tokens: the longest that may follow.
            temperature: 0 always takes the likeliest token; 1 draws as the model says.
            chat: put the prompt as a question, in the way that the model below was taught.
            seed: the same seed draws the same text, on one device.
        """
        check.whole(tokens, "tokens", at_least=1)
        check.in_range(temperature, "temperature", at_least=0)
        device = device_of(self._network)
        begun = self._ids(prompt, chat)
        ids = moved(np.array([begun]), device)
        ends = self._tokenizer.eos_token_id
        how: dict[str, Any] = {"do_sample": False}
        if temperature > 0:
            how = {"do_sample": True, "temperature": temperature, "top_p": 0.95, "top_k": 0}
        with own_chance(device), quiet_transformers(), room_for("so long a text", _SMALLER):
            if seed is not None:
                torch.manual_seed(seed)
            else:
                torch.seed()
            written = self._network.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=tokens,
                pad_token_id=0 if ends is None else ends,
                **how,
            )
        return self._after(begun, written[0].tolist())

    def _after(self, begun: Sequence[int], written: Sequence[int]) -> str:
        """What was added, with the space before it, which a tokenizer may leave out at first."""
        before: str = self._tokenizer.decode(begun, skip_special_tokens=True)
        whole: str = self._tokenizer.decode(written, skip_special_tokens=True)
        if whole.startswith(before):
            return whole[len(before) :]
        added: str = self._tokenizer.decode(written[len(begun) :], skip_special_tokens=True)
        return added

    def _ids(self, prompt: str, chat: bool) -> list[int]:
        if chat:
            if not getattr(self._tokenizer, "chat_template", None):
                raise InvalidValue("the model below was not taught to chat; leave out --chat")
            prompt = self._tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
            )
        first = [] if chat else [first_mark(self._tokenizer)]
        ids = self._tokenizer(prompt, add_special_tokens=False)["input_ids"]
        return [*first, *ids]


def refuse_base(given: str | None) -> None:
    """Stop if somebody names the model below, and there is none."""
    if given is not None:
        raise InvalidValue("--base is for adapters, and this model has none; leave it out")


def base_of(folder: Path, receipt: Receipt, given: str | None = None) -> Path:
    """The folder of the model below, which must be the one that was trained on.

    Args:
        folder: of the run.
        receipt: of the run.
        given: the model below; None to take it from where the run found it.
    """
    place = given
    if place is None:
        config = plain_json((folder / _CONFIG).read_bytes())
        place = str(config.get("base_model_name_or_path"))
    try:
        below = model_folder(place)
    except NotFound as error:
        raise NotFound(
            "the model that these adapters belong to is not where it was when they were trained; "
            "say where it is with --base"
        ) from error
    with read_as(f"the receipt in {folder} does not say what its adapters are of"):
        wanted = receipt.about["model"]["adapters"]["base"]["sha256"]
    if model_files_sha256(below, {}) != wanted:
        raise VerificationFailed(
            f"{below} is not the model that these adapters were trained on: its files differ; say "
            "where that is with --base"
        )
    return below
