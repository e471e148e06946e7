"""Seconds per step of certified training, against a plain loop over sentences, in one run.

An AWD-LSTM of the paper's size (three layers of 1,150 units, vectors of 100, 8,882 words, tied) and
about 47 drawn users with 15 sentences each, as long as those of CoNLL-2003, half of the entities
drawn. The baseline sends each sentence alone through PyTorch's own LSTM, adds its gradient to its
cell's, clips cells, adds them up, clips users: what one writes first. It is measured on a few users
and scaled by the number of sentences; for those users the two results are compared.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from figures import Call, Row, Timed
from torch.nn import functional

from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
from discreet.training.user_entity._bounds import within_bounds
from discreet.training.user_entity._draws import Rates, StepDraws
from discreet.training.user_entity._gradients import ActiveText, added_up, contributions
from discreet.training.user_entity._server import Server
from discreet.training.user_entity.rules import Rules, TrainingPlan
from discreet.training.user_entity.users import Sentence, UserText, gather

GROUP, BASELINE = "User-entity step", "PyTorch, sentence by sentence"
CLIP, CELL_CLIP = 1.0, 0.1
ROUNDS = 3
WORDS = 8882


def people(users: int) -> tuple[UserText, ...]:
    """Users whose sentences are as long, and hold as many entities, as those of CoNLL-2003."""
    rng = np.random.default_rng(0)
    sentences = [
        Sentence(
            f"user {user}",
            rng.integers(1, WORDS, int(np.clip(rng.gamma(1.3, 11.0), 1, 60))).tolist(),
            frozenset(f"{user} {rng.integers(0, 25)}" for _ in range(rng.integers(0, 3))),
        )
        for user in range(users)
        for _ in range(15)
    ]
    return within_bounds(gather(sentences), holders=10, cells=1)[0]


class Plain:
    """PyTorch's own layers with the same weights, and a loop over sentences."""

    def __init__(self, model: AwdLstm) -> None:
        shape, weights = model.shape, model.trainable()
        self.embedding = torch.nn.Parameter(weights["embedding"].clone())
        self.bias = torch.nn.Parameter(weights["output.bias"].clone())
        self.layers = []
        for layer in range(shape.layers):
            lstm = torch.nn.LSTM(*shape.widths(layer), batch_first=True)
            with torch.no_grad():
                lstm.weight_ih_l0.copy_(_theirs(weights[f"lstm.{layer}.input"]))
                lstm.weight_hh_l0.copy_(_theirs(weights[f"lstm.{layer}.recurrent"]))
                lstm.bias_ih_l0.zero_()
                lstm.bias_hh_l0.zero_()
            lstm.bias_hh_l0.requires_grad_(False)
            self.layers.append(lstm)
        self.parameters = [self.embedding, self.bias]
        for lstm in self.layers:
            self.parameters += [lstm.weight_ih_l0, lstm.weight_hh_l0, lstm.bias_ih_l0]

    def gradient(self, words: torch.Tensor) -> list[torch.Tensor]:
        """Of one sentence."""
        boundary = torch.zeros(1, dtype=torch.int64)
        x = self.embedding[torch.cat([boundary, words])][None]
        for lstm in self.layers:
            x = lstm(x)[0]
        logits = x[0] @ self.embedding.T + self.bias
        targets = torch.cat([words, boundary])
        loss = functional.cross_entropy(logits, targets, reduction="sum")
        return list(torch.autograd.grad(loss, self.parameters))

    def contribution(self, text: ActiveText) -> list[torch.Tensor]:
        """Of one user."""
        cells: dict[int, list[torch.Tensor]] = {}
        for sentence in text.sentences:
            own = text.user.places(np.array([sentence]))
            gradient = self.gradient(torch.from_numpy(text.user.tokens[own]))
            cell = int(text.user.cell[sentence])
            if cell < 0:  # without an entity a sentence is a cell by itself
                cell = -1 - int(sentence)
            if cell in cells:
                for total, part in zip(cells[cell], gradient, strict=True):
                    total += part
            else:
                cells[cell] = gradient
        whole = [torch.zeros_like(p) for p in self.parameters]
        for gradient in cells.values():
            factor = min(1.0, CELL_CLIP / _norm(gradient))
            for total, part in zip(whole, gradient, strict=True):
                total.add_(part.detach(), alpha=factor)
        factor = min(1.0, CLIP / _norm(whole))
        return [total * factor for total in whole]


def _theirs(value: torch.Tensor) -> torch.Tensor:
    keep, write, show, new = value.chunk(4)
    return torch.cat([write, keep, new, show])


def _norm(tensors: list[torch.Tensor]) -> float:
    return float(sum(float(tensor.norm()) ** 2 for tensor in tensors) ** 0.5)


@dataclass(frozen=True)
class Step:
    """One step of training: a model, and what the drawn users contribute."""

    model: AwdLstm
    baseline: Plain
    plan: TrainingPlan
    draws: StepDraws
    texts: Sequence[ActiveText]
    few: int
    """For so many users the baseline is measured."""

    def contributions(self, texts: Sequence[ActiveText]) -> Iterator[dict[str, torch.Tensor]]:
        """Ours, of some users."""
        return contributions(self.model, texts, self.draws, clip=CLIP, cell_clip=CELL_CLIP)

    def plain(self) -> list[list[torch.Tensor]]:
        """The baseline's, of the first few users."""
        return [self.baseline.contribution(text) for text in self.texts[: self.few]]


@pytest.fixture(scope="module")
def step(quick: bool) -> Step:
    """As large as the paper's; in a smoke test small."""
    hidden, layers, users, few = (16, 2, 3, 1) if quick else (1150, 3, 47, 3)
    model = AwdLstm(AwdLstmShape(words=WORDS, boundary=0, hidden=hidden, layers=layers))
    drawn = people(users)
    plan = TrainingPlan.of(Rules(clip=CLIP, cell_clip=CELL_CLIP), drawn)
    draws = StepDraws.seeded(Rates(users=1.0, entities=0.5), 0, 0)
    texts = [text for text in (plan.active(user, draws) for user in drawn) if text is not None]
    return Step(model, Plain(model), plan, draws, texts, few)


def test_the_two_contribute_the_same(step: Step) -> None:
    """The clock is not running; this warms both up."""
    few = list(step.contributions(step.texts[: step.few]))
    for ours, theirs in zip(few, step.plain(), strict=True):
        assert float((ours["embedding"] - theirs[0]).norm()) < 1e-3


def test_plain(timed: Timed, step: Step) -> None:
    """The baseline, on a few users: as much of a step as their share of the sentences."""
    sentences = [len(text.sentences) for text in step.texts]
    share = sum(sentences[: step.few]) / sum(sentences)
    timed(Call(GROUP, "baseline", BASELINE, share), ROUNDS, step.plain)


def test_ours(timed: Timed, step: Step) -> None:
    """The whole step."""
    weights = step.model.trainable()
    row = Row(
        subject=f"{GROUP}, {sum(p.numel() for p in weights.values()) / 1e6:.1f} M parameters",
        baseline=BASELINE,
        unit="steps/s",
        target=5.0,
        floor_is="the products of one pass forward and back, as one large product would take",
    )

    def whole() -> None:
        added_up(step.contributions(step.texts), Server(step.plan, weights).empty_sum())

    timed(Call(GROUP, "ours", "discreet", 1, (row,)), ROUNDS, whole)


def test_product(timed: Timed, step: Step) -> None:
    """A word meets each number of a matrix once forward and twice back; the output is tied."""
    words, weights = sum(text.words for text in step.texts), step.model.trainable().values()
    operations = 2 * 3 * words * sum(p.numel() for p in weights if p.ndim == 2)
    left, right = torch.ones(1024, 1024), torch.ones(1024, 1024)
    call = Call(GROUP, "floor", "floor: products", 2 * 1024**3 / operations)
    timed(call, 5, torch.matmul, left, right)
