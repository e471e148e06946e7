"""Encoder, M1, M2 and task layers trained together through the noise of a sentence mechanism.

On the user's side: the encoder gives a unit vector, M1 maps it to few dimensions, the result is
scaled to the sphere, and noise is added. On the server's: M2 maps what was released back up, to a
sphere again, and the task layers read it.

On PROTECTED text this is the paper's interactive loop (Du et al., WWW 2023, section 3.3): every
epoch releases every sentence anew. On PUBLIC text nothing is released while training: the encoder
and M1 that come out are public, and protected sentences can go through them once.
"""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import Floats, Floats32, Generator, Progress
from discreet.devices import CPU, array_of, device_of, room_for
from discreet.encoders.encoder import load_encoder
from discreet.encoders.layers import affine_network, layers_of
from discreet.encoders.maps import PublicMap, require_dimension
from discreet.errors import InvalidValue
from discreet.mechanisms.sentence import unit_rows
from discreet.models.bert import save_masked_model
from discreet.models.sphere_noise import Trainable, through_noise, trainable
from discreet.models.task import ReleasedAs, TaskModel, on_large_sphere
from discreet.randomness import secure_generator
from discreet.release.vectors import VectorSet
from discreet.statement import PrivacyStatement
from discreet.text.labelled import Labelled
from discreet.text.tokens import TokenBatch
from discreet.training.kept_state import RunState
from discreet.training.loop import (
    RowsOfLikeLength,
    TrainingStage,
    seeded_weights,
    train_in_stages,
    warmed_up,
)
from discreet.training.vectors.reading import LowerStates, SentenceReader, joint_tokens
from discreet.training.vectors.settings import EndToEndSettings
from discreet.training.vectors.task import TaskTarget, loop_statement

if TYPE_CHECKING:
    import torch

ENCODER, MAP, MODEL = "encoder", "map.safetensors", "model.safetensors"
"""What :meth:`EndToEnd.save` writes into a folder."""
GRADIENTS_NOT_COVERED = (
    "the encoder and M1 were trained together with the model, by gradients that need the raw text: "
    "from the second step on they carry each sentence into what is released of all others, so that "
    "no epsilon holds for the noisy vectors, for the gradients, or for the encoder and M1"
)
NOT_PUBLIC = (
    "the encoder and the map were trained on protected text by the published loop and are not "
    "public: this statement is for sentences that they were not trained on, and for the others "
    "nothing holds"
)


@dataclass(frozen=True)
class ReadTexts:
    """Texts as pieces, with the states of the frozen layers where there are any."""

    tokens: TokenBatch
    kept: LowerStates | None = field(repr=False)

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class EndToEnd:
    """What :func:`train_end_to_end` gives.

    Attributes:
        reader: The encoder, on the user's side.
        map: M1, on the user's side.
        model: M2 and the task layers, on the server's.
        mechanism: The noise between them; None if there was none.
        statement: That nothing holds, and why; None if the text was public or there was no noise.
    """

    reader: SentenceReader = field(repr=False)
    map: PublicMap
    model: TaskModel
    mechanism: Trainable | None
    statement: PrivacyStatement | None

    def units(self, texts: ReadTexts) -> Floats:
        """Texts on the sphere, before noise: UNPROTECTED, and not to leave the user's side."""
        read = self.reader.units(texts.tokens, texts.kept)
        return unit_rows(self.map.apply(read))

    def release(self, texts: ReadTexts, rng: Generator | None = None) -> VectorSet:
        """What the server gets of each text: one draw of the mechanism itself, on its grid.

        For experiments: texts are read in batches, so that the last bits of a vector before its
        noise depend on its company, and nothing is stated. ``embed`` reads each by itself.
        """
        units = self.units(texts)
        if self.mechanism is None:
            return VectorSet(units.astype(np.float32))
        return VectorSet(self.mechanism.release(units, rng or secure_generator()))

    def save(self, folder: Path, *, force: bool = False) -> None:
        """Write the encoder as transformers reads it, M1 and the model, each in a place of its own.

        ``discreet embed --encoder F/encoder --pooling mean --map trained:F/map.safetensors``, with
        F for the folder, releases vectors for the model; there texts are not cut as in training.
        """
        folder.mkdir(parents=True, exist_ok=True)
        save_masked_model(self.reader.model, folder / ENCODER, self.model.about, force=force)
        # For its fingerprint alone, which needs no second model on a device.
        encoder = load_encoder(str(folder / ENCODER), pooling="mean", device=CPU)
        mapped = replace(self.map, encoder=encoder.fingerprint)
        mapped.save(folder / MAP, force=force)
        made = None
        if self.mechanism is not None:
            name, epsilon = type(self.mechanism).name, self.mechanism.statement.epsilon
            made = ReleasedAs(
                name, epsilon, mapped.dimension, encoder.fingerprint, mapped.fingerprint
            )
        replace(self.model, released=made).save(folder / MODEL, force=force)


def read_texts(reader: SentenceReader, examples: Labelled) -> ReadTexts:
    """Cut texts, or pairs as one sequence each, into pieces; run the frozen layers once."""
    tokens = joint_tokens(reader.model, examples.texts, examples.seconds)
    return ReadTexts(tokens, reader.lower_states(tokens) if reader.frozen else None)


def train_end_to_end(
    reader: SentenceReader,
    texts: ReadTexts,
    target: TaskTarget,
    settings: EndToEndSettings,
    *,
    public: bool = False,
    noise_seed: int | None = None,
    state: RunState | None = None,
    progress: Progress | None = None,
) -> EndToEnd:
    """Train everything through the noise; the encoder is changed in place.

    Privacy: none on protected text, as in :func:`~discreet.training.vectors.task.train_published`.
    The server's gradient with respect to a released vector is a function of releases and goes back
    to the user at no cost; but from there on, the gradients of M1 and of the encoder need the raw
    text, and what is trained by them decides what is released of everybody else. Public text has
    no statement: what comes out is public too.

    Paper: Du et al., WWW 2023, sections 3.2 and 3.3. Where we differ: the new layers have a rate of
    their own, rates rise and fall, the task layers are one tanh layer and a linear one, and what
    does not hold is said.

    Args:
        reader: The encoder. With ``frozen_layers`` of the settings it must have been made so.
        texts: From :func:`read_texts` with the same reader.
        target: What to learn; randomised labels are drawn before, once.
        settings: How.
        public: The texts and labels are public.
        noise_seed: Of the noise, for experiments; by default noise is from the secure generator.
        state: Where the state of a run is kept. It needs a seed: steps that are done again would
            otherwise draw new noise, and release their sentences once more than is said.
        progress: Called with (done, total) steps.
    """
    if len(texts) != len(target.values):
        raise InvalidValue(f"{len(texts)} texts need as many labels; got {len(target.values)}")
    if reader.frozen != settings.frozen_layers or (reader.frozen > 0) != (texts.kept is not None):
        raise InvalidValue("the texts were read with another number of frozen layers")
    if state is not None and noise_seed is None and settings.mechanism is not None and not public:
        raise InvalidValue(
            "a run with secure noise cannot be resumed: steps done again would release their "
            "sentences once more; leave out the state, or give noise_seed in an experiment"
        )
    size, inputs = settings.dimension, int(reader.network.config.hidden_size)
    require_dimension(size, inputs)
    noise = None
    if settings.mechanism is not None and settings.epsilon is not None:
        noise = trainable(settings.mechanism, size, settings.epsilon)
    memory = room_for("training end to end", "use a smaller encoder, or --device cpu")
    with seeded_weights(settings.seed, "training end to end"), memory:
        import torch

        device = device_of(reader.network)
        parts = torch.nn.ModuleDict(
            {
                "encoder": reader.network,
                "m1": torch.nn.Linear(inputs, size, bias=False),
                "m2": torch.nn.Linear(size, inputs, bias=False),
                "head": affine_network([inputs, inputs, target.outputs]),
            }
        ).to(device)
    secure = secure_generator()
    batches = RowsOfLikeLength(np.diff(texts.tokens.offsets), settings.batch, settings.seed)

    def loss(step: int) -> Any:
        rows = batches.of_step(step)
        drawn = secure if noise_seed is None else np.random.default_rng([noise_seed, step])
        units = _on_sphere(parts["m1"](reader.vectors(texts.tokens, rows, texts.kept)))
        released = units if noise is None else through_noise(noise, units, drawn)
        return target.loss(parts["head"](on_large_sphere(parts["m2"](released))), rows)

    new = [p for name, p in parts.named_parameters() if not name.startswith("encoder.")]
    stage = TrainingStage(
        settings.epochs * batches.length,
        warmed_up(settings.learning_rate),
        [*reader.trained, *new],
        loss,
    )
    faster = settings.map_rate / settings.learning_rate
    train_in_stages(
        parts,
        [stage],
        seed=settings.seed,
        state=state,
        times=lambda name: 1.0 if name.startswith("encoder.") else faster,
        progress=progress,
    )
    reader.network.eval()
    if state is not None:
        state.forget()
    return _result(reader, parts, noise, target, settings, public, noise_seed)


def _result(
    reader: SentenceReader,
    parts: Any,
    noise: Trainable | None,
    target: TaskTarget,
    settings: EndToEndSettings,
    public: bool,
    noise_seed: int | None,
) -> EndToEnd:
    down, up = (_affine(parts[name]) for name in ("m1", "m2"))
    head = target.unscaled(layers_of(parts["head"]))
    about = {
        "trained": "end to end, on " + ("public text" if public else "PROTECTED text"),
        "rows": len(target.values),
        "corrected for randomised labels": target.transition is not None,
        "settings": asdict(settings),
    }
    statement = None
    if noise is not None and not public:
        statement = loop_statement(
            noise, settings.epochs, GRADIENTS_NOT_COVERED, seeded=noise_seed is not None
        )
        about["statement"] = statement.to_dict()
    made = {"made": about["trained"]}
    if not public:
        made["caveat"] = NOT_PUBLIC
    # For which encoder is known once that is saved, and has a fingerprint.
    mapped = PublicMap.of_layers((down,), encoder=None, about=made)
    model = TaskModel((up,), head, target.labels, False, None, about, sphere=True)
    return EndToEnd(reader, mapped, model, noise, statement)


def _on_sphere(rows: "torch.Tensor") -> "torch.Tensor":
    import torch

    return torch.nn.functional.normalize(rows)


def _affine(linear: Any) -> tuple[Floats32, Floats32]:
    """A linear layer without bias as an affine one."""
    weight = array_of(linear.weight).T.copy()
    return weight, np.zeros(weight.shape[1], np.float32)
