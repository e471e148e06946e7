"""Seconds per step of certified training, against a plain loop over sentences, in one run.

An AWD-LSTM of the paper's size (three layers of 1,150 units, vectors of 100, 8,882 words, tied) and
about 47 drawn users with 15 sentences each, as long as those of CoNLL-2003, half of the entities
drawn. The baseline sends each sentence alone through PyTorch's own LSTM, adds its gradient to its
cell's, clips cells, adds them up, clips users: what one writes first. It is measured on a few users
and scaled by the number of sentences; for those users the two results are compared.

    python benchmarks/user_entity.py [--hidden 1150] [--threads 2] [--output user_entity.json]
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from figures import Figures, Row, best_of, peak_gigabytes
from torch.nn import functional

from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
from discreet.training.user_entity import (
    ActiveText,
    Plan,
    Rates,
    Rules,
    Sentence,
    Server,
    StepDraws,
    UserText,
    added_up,
    contributions,
    gather,
    within_bounds,
)

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

    def contribution(self, text: ActiveText, clip: float, cell_clip: float) -> list[torch.Tensor]:
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
            factor = min(1.0, cell_clip / _norm(gradient))
            for total, part in zip(whole, gradient, strict=True):
                total.add_(part.detach(), alpha=factor)
        factor = min(1.0, clip / _norm(whole))
        return [total * factor for total in whole]


def _theirs(value: torch.Tensor) -> torch.Tensor:
    keep, write, show, new = value.chunk(4)
    return torch.cat([write, keep, new, show])


def _norm(tensors: list[torch.Tensor]) -> float:
    return float(sum(float(tensor.norm()) ** 2 for tensor in tensors) ** 0.5)


def product_seconds(model: AwdLstm, words: int) -> float:
    """Seconds for the products of one pass forward and back over so many words, at full speed."""
    sizes = [parameter.numel() for parameter in model.trainable().values() if parameter.ndim == 2]
    # A word meets each number of a matrix once forward and twice back; the output is the tied one.
    operations = 2 * 3 * words * sum(sizes)
    left, right = torch.ones(1024, 1024), torch.ones(1024, 1024)
    return best_of(5, lambda: left @ right) * operations / (2 * 1024**3)


def measure(options: argparse.Namespace) -> Figures:
    """One step of each."""
    shape = AwdLstmShape(words=WORDS, boundary=0, hidden=options.hidden, layers=options.layers)
    model, users = AwdLstm(shape), people(options.users)
    plan = Plan.of(Rules(clip=1.0, cell_clip=0.1), users)
    draws = StepDraws.seeded(Rates(users=1.0, entities=0.5), 0, 0)
    texts = [text for text in (plan.active(user, draws) for user in users) if text is not None]
    sentences, words = sum(len(text.sentences) for text in texts), sum(text.words for text in texts)
    few = texts[: options.baseline_users]

    plain = Plain(model)
    slow = [plain.contribution(text, 1.0, 0.1) for text in few]
    checked = list(contributions(model, few, draws, clip=1.0, cell_clip=0.1))
    apart = max(
        float((ours["embedding"] - theirs[0]).norm())
        for ours, theirs in zip(checked, slow, strict=True)
    )
    if apart > 1e-3:
        raise SystemExit(f"the two contributions differ by {apart:.2g}")
    times = 1 if options.quick else 2
    slow_seconds = best_of(times, lambda: [plain.contribution(text, 1.0, 0.1) for text in few])
    slow_each = slow_seconds / sum(len(text.sentences) for text in few)

    def step() -> None:
        total = Server(plan, model.trainable()).empty_sum()
        added_up(contributions(model, texts, draws, clip=1.0, cell_clip=0.1), total)

    seconds = best_of(times, step)
    parameters = sum(p.numel() for p in model.trainable().values())
    row = Row(
        subject=f"User-entity step, {parameters / 1e6:.1f} M parameters",
        baseline="PyTorch, sentence by sentence",
        unit="steps/s",
        ours=1 / seconds,
        theirs=1 / (slow_each * sentences),
        target=5.0,
        gigabytes=peak_gigabytes(),
        floor=1 / product_seconds(model, words),
        floor_is="the products of one pass forward and back, as one large product would take",
    )
    print("  ".join(row.cells()), flush=True)
    details = {
        "users": len(texts),
        "sentences": sentences,
        "words": words,
        "threads": torch.get_num_threads(),
        "seconds_per_step": seconds,
        "largest_difference": apart,
    }
    return Figures(rows=[row], details=details)


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=1150)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--users", type=int, default=47)
    parser.add_argument("--baseline-users", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--quick", action="store_true", help="a smoke test on a small model")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.quick:
        options.hidden, options.layers, options.users, options.baseline_users = 16, 2, 3, 1
    figures = measure(options)
    if options.output:
        figures.write(options.output)


if __name__ == "__main__":
    main()
