"""Adapters or all weights in training: what a user and an entity change, and an audit."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from discreet.audit.canaries import audit_canaries
from discreet.models.adapter_kinds import TRAINED
from discreet.models.language import AdaptedLanguageModel
from discreet.training.user_entity._draws import Rates, StepDraws
from discreet.training.user_entity.rules import Rules
from discreet.training.user_entity.trainer import UserEntityTrainer
from discreet.training.user_entity.users import Sentence, gather
from half_precision import WIDE, halved, kinds_of
from tiny_causal import gpt2, llama, save_model

CLIP, CELL_CLIP = 0.005, 0.001
EVERYBODY = StepDraws(bytes(32), Rates(users=1.0))
WORDS = 12


@pytest.fixture(autouse=True, scope="module")
def peft():
    pytest.importorskip("peft")


def sentences(seed=3, users=4):
    rng = np.random.default_rng(seed)
    return [
        Sentence(
            f"user {user}",
            rng.integers(1, WORDS, rng.integers(2, 7)).tolist(),
            frozenset({"entity"} if place == 1 else {f"other {place}"} if place else ()),
        )
        for user in range(users)
        for place in range(4)
    ]


def model(kind, network=llama, last_blocks=None):
    made = AdaptedLanguageModel(network(), rank=2, adapters=kind, last_blocks=last_blocks)
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in made.trainable().values():
            value += 0.2 * torch.randn(value.shape, generator=random)
    return made


def total(made, rows, **changes):
    given = {"clip": CLIP, "cell_clip": CELL_CLIP, "holders": 4, "user_rate": 1.0} | changes
    summed = UserEntityTrainer(Rules(**given), gather(rows), made, seed=0).total(EVERYBODY)
    return torch.cat([value.reshape(-1) for value in summed.values()])


def without(rows, *, user=None, entity=None):
    return [row for row in rows if row.user != user and entity not in row.entities]


@pytest.mark.parametrize("kind", TRAINED)
@pytest.mark.parametrize(("network", "last"), [(llama, None), (llama, 1), (gpt2, 1)])
def test_a_user_and_an_entity_move_the_sum_by_at_most_the_bound(kind, network, last):
    made, rows = model(kind, network, last), sentences()
    whole = total(made, rows)
    no_user = total(made, without(rows, user="user 0"))
    assert 0.2 * CLIP < float((whole - no_user).norm()) <= CLIP
    no_entity = total(made, without(rows, entity="entity"))
    assert 0.2 * CELL_CLIP < float((whole - no_entity).norm()) <= 4 * CELL_CLIP
    # Gradients are far longer than the norms: a mutant that does not clip is seen.
    loose = total(made, rows, clip=1e9, cell_clip=1e9)
    far = loose - total(made, without(rows, user="user 0"), clip=1e9, cell_clip=1e9)
    assert float(far.norm()) > 5 * CLIP


@pytest.mark.parametrize("kind", TRAINED)
def test_a_model_of_16_bits_is_trained_in_32(tmp_path, kind):
    """What is clipped is what a model of 32 bits with the same weights gives."""
    save_model(tmp_path, ["the", *(f"w{i}" for i in range(3, WORDS))])
    loaded = AdaptedLanguageModel.load(halved(tmp_path), rank=2, adapters=kind)
    given = AdaptedLanguageModel(llama().half(), rank=2, adapters=kind)
    assert kinds_of(loaded._network) == kinds_of(given._network) == WIDE
    rounded = llama()
    rounded.load_state_dict({n: value.half() for n, value in rounded.state_dict().items()})
    for made, wide in ((loaded, rounded), (given, llama().half().float())):
        expected = total(AdaptedLanguageModel(wide, rank=2, adapters=kind), sentences())
        assert float(expected.norm()) > 0.2 * CLIP
        assert float((total(made, sentences()) - expected).norm()) < 1e-5 * CLIP


@dataclass(frozen=True)
class AdapterGame:
    """Users who take part or not; the score is what fits the released step best."""

    rules: Rules
    made: AdaptedLanguageModel
    canaries: int
    weaker: float = 1.0

    def play(self, included, rng):
        texts = np.random.default_rng(5).integers(1, WORDS, (self.canaries, 6)).tolist()
        users = gather([Sentence(f"canary {i}", text) for i, text in enumerate(texts)])
        trainer = self._trainer(
            [user for user, there in zip(users, included, strict=True) if there]
        )
        own = torch.stack([self._sum(self._trainer([user])) for user in users]).double()
        start = {name: value.detach().clone() for name, value in self.made.trainable().items()}
        trainer.server.release(trainer.total(EVERYBODY), rng)
        moved = [start[name] - value for name, value in self.made.trainable().items()]
        with torch.no_grad():
            for name, value in self.made.trainable().items():
                value.copy_(start[name])
        released = torch.cat([part.detach().reshape(-1) for part in moved]).double()
        released *= trainer.plan.denominator / self.rules.learning_rate
        return torch.linalg.lstsq(own.T, released[:, None]).solution[:, 0].numpy()

    def _trainer(self, users):
        made = UserEntityTrainer(self.rules, users, self.made, seed=0)
        made.server.plan = replace(made.plan, deviation=made.plan.deviation / self.weaker)
        return made

    @staticmethod
    def _sum(trainer):
        return torch.cat([value.reshape(-1) for value in trainer.total(EVERYBODY).values()])


@pytest.mark.parametrize("kind", ["half", "core", "all"])
def test_canaries_stay_below_the_figure_and_catch_too_little_noise(kind):
    rules = Rules(
        algorithm="user-level",
        optimizer="sgd",
        user_rate=1.0,
        noise=6.0,
        population=40,
        clip=CLIP,
        cell_clip=CELL_CLIP,
    )
    made = model(kind)
    claimed = rules.loss(1).user
    sound = AdapterGame(rules, made, 40)
    audit = {"claimed": claimed, "delta": rules.delta, "seed": 7}
    assert not audit_canaries(sound, **audit).broken
    found = audit_canaries(replace(sound, weaker=1e5), **audit)
    assert found.broken
    assert found.lower > claimed
