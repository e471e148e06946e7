"""Models of released vectors: corrected labels, pairs, scores, the paper's loop, and an attack."""

import numpy as np
import pytest

from discreet.attacks.membership import LabelledPredictions, membership_attack
from discreet.encoders.maps import PublicMap
from discreet.errors import InvalidValue
from discreet.mechanisms.label import RandomizedResponse
from discreet.mechanisms.sentence import Purkayastha, unit_rows
from discreet.models.sphere_noise import through_noise
from discreet.randomness import SEEDED_CAVEAT
from discreet.release.vectors import VectorSet
from discreet.report.training import task_lines
from discreet.statement import Notion, PrivacyStatement
from discreet.training.scores import number_scores
from discreet.training.vectors.maps import MapTrainer
from discreet.training.vectors.settings import MapTrainingSettings, TaskSettings
from discreet.training.vectors.task import (
    NOT_COVERED,
    TaskTarget,
    train_on_release,
    train_published,
)

torch = pytest.importorskip("torch")

QUICK = TaskSettings(epochs=6, hidden=16)


def _rows(count: int, seed: int, dimension: int = 12):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, count)
    axis = np.random.default_rng(7).standard_normal(dimension)
    vectors = np.where(codes, 1, -1)[:, None] * axis + 1.2 * rng.standard_normal((count, dimension))
    return unit_rows(vectors).astype(np.float32), codes


def _released(count: int, seed: int, epsilon: float = 16.0):
    vectors, codes = _rows(count, seed)
    rng = np.random.default_rng(seed)
    return VectorSet(Purkayastha(12, epsilon).release(vectors, rng)), codes


def _names(codes) -> list[str]:
    return ["no" if code == 0 else "yes" for code in codes]


def test_the_loss_of_randomised_labels_by_hand():
    law = np.array([[0.9, 0.1], [0.4, 0.6]])
    target = TaskTarget.classes(["no", "yes", "yes"], ("no", "yes"), law)
    said = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    probabilities = torch.softmax(said, dim=1).numpy() @ law
    expected = -np.log(probabilities[[0, 1], [0, 1]]).mean()
    assert target.loss(said[:2], np.array([0, 1])).item() == pytest.approx(expected, rel=1e-5)


def test_correction_undoes_a_lopsided_law():
    released, codes = _released(4000, 1)
    law = np.array([[0.45, 0.55], [0.0, 1.0]])
    rng = np.random.default_rng(2)
    flipped = np.where((codes == 0) & (rng.random(len(codes)) < 0.55), 1, codes)
    test, truth = _released(2000, 3)

    def accuracy(transition):
        target = TaskTarget.classes(_names(flipped), ("no", "yes"), transition)
        model = train_on_release(released, target, settings=QUICK)
        return np.mean(np.array(model.predict(test)) == np.array(_names(truth)))

    corrected, naive = accuracy(law), accuracy(None)
    assert corrected > 0.85
    assert naive < corrected - 0.1


def test_randomised_response_costs_little_with_its_law():
    released, codes = _released(4000, 1)
    mechanism = RandomizedResponse(["no", "yes"], epsilon=1.0)
    noisy = mechanism.release(codes, np.random.default_rng(1))
    target = TaskTarget.classes(_names(noisy), ("no", "yes"), mechanism.transition)
    model = train_on_release(released, target, settings=QUICK)
    test, truth = _released(2000, 3)
    assert np.mean(np.array(model.predict(test)) == np.array(_names(truth))) > 0.85
    # It predicts true labels: probabilities are not pulled towards those of released ones.
    assert model.probabilities(test).max(axis=1).mean() > 0.8


@pytest.mark.parametrize("regression", [False, True])
def test_pairs(regression):
    first, codes = _rows(3000, 1)
    second, others = _rows(3000, 2)
    rng = np.random.default_rng(0)
    mechanism = Purkayastha(12, 40.0)
    data = VectorSet(mechanism.release(first, rng), mechanism.release(second, rng))
    alike = (codes == others).astype(int)
    test = VectorSet(data.vectors[2000:], data.second[2000:])
    train = VectorSet(data.vectors[:2000], data.second[:2000])
    settings = TaskSettings(epochs=15, hidden=16)
    if regression:
        scores = 3.0 + 2.0 * (first * second).sum(axis=1)
        model = train_on_release(train, TaskTarget.scores(scores[:2000]), settings=settings)
        found = number_scores(scores[2000:].tolist(), model.predict(test))
        assert found["pearson"] > 0.7
        assert found["mean_squared_error"] < 0.6 * np.var(scores)
        return
    model = train_on_release(train, TaskTarget.classes(_names(alike[:2000])), settings=settings)
    assert np.mean(np.array(model.predict(test)) == np.array(_names(alike[2000:]))) > 0.8


def test_in_the_published_loop_a_sentence_moves_what_is_released_of_others(monkeypatch):
    def released(vectors):
        """The directions that noise is added to, step by step."""
        seen = []

        def spied(noise, units, rng):
            seen.append(units.detach().numpy())
            return through_noise(noise, units, rng)

        monkeypatch.setattr("discreet.training.vectors.task.through_noise", spied)
        made = train_published(
            VectorSet(vectors),
            TaskTarget.classes(_names(codes)),
            epsilon=5.0,
            dimension=2,
            encoder="e" * 64,
            settings=TaskSettings(epochs=2, batch=100, hidden=4, device="cpu"),
            rng=np.random.default_rng(0),
        )
        return made, seen

    vectors, codes = _rows(200, 1)
    other = vectors.copy()
    other[0] *= -1
    (made, before), (_, after) = released(vectors), released(other)
    pairs = zip(before, after, strict=True)
    moved = [int((np.abs(a - b) > 1e-4).any(axis=1).sum()) for a, b in pairs]
    assert sum(moved[:2]) >= 1, "in the first epoch its own row"
    assert sum(moved[2:]) > 10, "in the second those of others, which no epsilon of its own bounds"
    assert made.statement.notion is Notion.NONE
    assert PrivacyStatement.from_dict(made.model.about["statement"]) == made.statement
    lines = [*task_lines(made.model), *made.statement.lines()]
    assert lines[1] == "No formal guarantee for any sentence."
    assert all("claims" in line for line in lines if "10" in line)


def test_the_published_loop_learns_and_says_what_the_paper_claims():
    vectors, codes = _rows(1500, 1)
    settings = TaskSettings(epochs=5, hidden=16)
    found = train_published(
        VectorSet(vectors),
        TaskTarget.classes(_names(codes)),
        epsilon=4.0,
        dimension=2,
        encoder="e" * 64,
        settings=settings,
    )
    statement = found.statement
    assert statement.notion is Notion.NONE
    assert any("epsilon = 20 for 5 epochs is what the paper claims" in c for c in statement.caveats)
    assert NOT_COVERED in statement.caveats
    assert SEEDED_CAVEAT not in statement.caveats
    assert found.model.released.map == found.map.fingerprint
    assert "PROTECTED" in found.map.about["made"]
    assert "not public" in found.map.caveat
    test, truth = _rows(1000, 2)
    noisy = Purkayastha(2, 4.0).release(unit_rows(found.map.apply(test)), np.random.default_rng(1))
    right = np.array(found.model.predict(VectorSet(noisy))) == np.array(_names(truth))
    assert right.mean() > 0.85
    seeded = train_published(
        VectorSet(vectors),
        TaskTarget.classes(_names(codes)),
        epsilon=4.0,
        dimension=2,
        encoder="e" * 64,
        settings=TaskSettings(epochs=1),
        rng=np.random.default_rng(0),
    )
    assert SEEDED_CAVEAT in seeded.statement.caveats


def test_map_release_train_predict_attack():
    public, public_codes = _rows(600, 10)
    trainer = MapTrainer(public, _names(public_codes), encoder="e" * 64, source="mine")
    mapped = trainer.train(MapTrainingSettings(6.0, dimensions=(2,), epochs=8))
    mechanism, rng = Purkayastha(2, 6.0), np.random.default_rng(0)

    def release(vectors, with_map: PublicMap = mapped):
        return VectorSet(mechanism.release(unit_rows(with_map.apply(vectors)), rng))

    (members, inside), (others, outside) = _rows(1500, 11), _rows(1500, 12)
    seen, unseen = release(members), release(others)
    model = train_on_release(seen, TaskTarget.classes(_names(inside)), settings=QUICK)
    assert np.mean(np.array(model.predict(unseen)) == np.array(_names(outside))) > 0.9
    for outcome in membership_attack(
        LabelledPredictions(model.probabilities(seen), inside),
        LabelledPredictions(model.probabilities(unseen), outside),
    ):
        assert outcome.success.low < 0.5 < outcome.success.high


GOOD = _rows(40, 1)[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TaskTarget.classes(["a"] * 40, ("a", "b")), "at least 2 classes"),
        (lambda: TaskTarget.classes(["a", "x"] * 20, ("a", "b")), "20 of 40 are not.* row 2"),
        (lambda: TaskTarget.classes(["a", "b"] * 20, ("a", "b"), [[1, 0]]), "2 rows of 2"),
        (
            lambda: TaskTarget.classes(["a", "b"] * 20, ("a", "b"), [[1, 1], [0, 1]]),
            "probabilities",
        ),
        (lambda: TaskTarget.scores([1.0, float("nan")] * 20), "that of row 2 is not"),
        (lambda: TaskTarget.scores([1.0] * 40), "all one number"),
        (lambda: TaskTarget.classes(["a", "b"] * 19), "40 vectors need as many labels; got 38"),
        (lambda: TaskSettings(epochs=0), "epochs of TaskSettings"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InvalidValue, match=message):
        train_on_release(VectorSet(GOOD), make(), settings=QUICK)


def test_bad_vectors():
    with pytest.raises(InvalidValue, match="at least 10 rows"):
        train_on_release(VectorSet(GOOD[:4]), TaskTarget.classes(["a", "b"] * 2))
    with pytest.raises(InvalidValue, match="at most that of the encoder, 12; got 13"):
        train_published(
            VectorSet(GOOD),
            TaskTarget.classes(["a", "b"] * 20),
            epsilon=1.0,
            dimension=13,
            encoder="e" * 64,
        )
