"""``discreet train user-entity`` as a person would run it."""

import gzip
import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from command import but, called, discreet

NAMES = ("zanzibar", "timbuktu", "quetzal")
WORDS = ("tea", "cup", "the", "of", "went", "to", "saw")
QUICK = ["--noise", "20", "--user-rate", ".5", "--population", "6", "--hidden", "5"]


@pytest.fixture
def files(tmp_path):
    rows = []
    for user in range(6):
        for place in range(3):
            name = NAMES[(user + place) % 3].title()
            tokens = ["the", "tea", "of", name] if place else ["saw", "the", "cup", "Marrakesh"]
            tags = ["O", "O", "O", "B-LOC"] if place else ["O"] * 4
            rows.append({"user": f"secret{user}", "tokens": tokens, "tags": tags, "kind": place})
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "notes.jsonl").write_text(text)
    (tmp_path / "notes.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n")
    (tmp_path / "names.txt").write_text("\n".join(NAMES) + "\n")
    return tmp_path


def run(files, *options, source="notes.jsonl", name="model", how=called, quick=QUICK):
    fields = ["--tokens-field", "tokens"]
    if "--gazetteer" not in options and "--algorithm" not in options:
        fields += ["--tags-field", "tags"]
    vocabulary = ["--vocabulary", files / "words.txt", "--embedding", "4"]
    arguments = [files / source, "-o", files / name, *fields, *vocabulary, *but(quick, *options)]
    return how("train", "user-entity", *arguments, cache=files / "cache")


def protected(text):
    lowered = text.lower()
    return [w for w in (*NAMES, "marrakesh", "secret1") if w in lowered]


def test_a_model_comes_with_its_receipt_and_nothing_of_the_text(files):
    done = run(files, "--steps", "3", source="notes.jsonl.gz", how=discreet)
    assert done.code == 0, done.err
    receipt = json.loads((files / "model" / "privacy.json").read_text())
    assert receipt["steps"] == {"planned": 3, "made": 3, "charged": 3}
    figures = receipt["figures"]
    assert 0 < figures["user"] < figures["joint"]
    assert 0 < figures["entity"] < figures["joint"]
    assert receipt["statement"]["epsilon"] == figures["joint"]
    assert receipt["statement"]["unit"] == "user+entity"
    assert "Dropped 6 sentences" not in json.dumps(receipt)
    for path in (files / "model").rglob("*"):
        if path.is_file():
            assert not protected(path.read_bytes().decode("latin-1")), path.name
    assert not protected(done.err + done.out.decode())
    vocabulary = (files / "model" / "vocabulary.txt").read_text().split()
    assert vocabulary == ["<s>", "<unk>", *WORDS]


def test_a_seeded_run_is_resumed_to_the_same_model(files):
    assert run(files, "--steps", "4", "--seed", "1", name="whole").code == 0
    assert run(files, "--steps", "2", "--seed", "1").code == 0
    done = run(files, "--steps", "4", "--seed", "1", "--resume")
    assert done.code == 0, done.err
    whole, parts = (files / n / "model.safetensors" for n in ("whole", "model"))
    assert whole.read_bytes() == parts.read_bytes()
    assert "seeded: not for release" in done.err


def test_a_budget_stops_the_run_and_a_spent_one_is_exit_code_3(files):
    first = run(files, "--steps", "50", "--budget", "0.3", "--json")
    assert first.code == 0, first.err
    receipt = json.loads(first.out)
    assert 0 < receipt["steps"]["charged"] < 50
    assert receipt["figures"]["joint"] <= 0.3
    assert "one more would exceed the budget" in first.err
    again = run(files, "--steps", "50", "--budget", "0.3", "--resume")
    assert again.code == 3
    assert "nothing more can be done" in again.err
    assert run(files, "--steps", "5", "--budget", "0.0001", name="other").code == 3
    assert not (files / "other" / "model.safetensors").exists()


def test_entities_come_from_a_list_as_well(files):
    done = run(files, "--steps", "1", "--gazetteer", files / "names.txt", "--strict")
    assert done.code == 0, done.err
    assert "Caveat: the guarantee is for the data after" not in done.err


def test_strict_refuses_what_would_be_dropped(files):
    done = run(files, "--steps", "1", "--holders", "2", "--strict")
    assert done.code == 2
    assert "3 entities have more than 2 holders" in done.err
    loose = run(files, "--steps", "1", "--holders", "2")
    assert loose.code == 0
    assert "Dropped 6 sentences of 12" in loose.err


def test_the_published_algorithm_shows_both_figures(files):
    done = run(files, "--steps", "2", "--algorithm", "published", "--tags-field", "tags")
    assert done.code == 0, done.err
    assert "No formal guarantee" in done.err
    figures = json.loads((files / "model" / "privacy.json").read_text())["figures"]["published"]
    assert figures["claimed"] < figures["at_least"]


def test_classes_are_learned_from_a_field(files):
    done = run(
        files,
        *("--steps", "40", "--algorithm", "noiseless", "--user-rate", "1"),
        *("--label-field", "kind", "--labels", "0,1,2", "--learning-rate", "1"),
        *("--evaluate", files / "notes.jsonl", "--evaluate-every", "20"),
        *("--plot", files / "curve.png"),
    )
    assert done.code == 0, done.err
    curve = json.loads((files / "model" / "curve.json").read_text())
    assert curve[39]["error_rate"] < 0.5  # two of three classes have the same words
    assert (files / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_public_model_is_gone_on_with_and_only_some_parts_move(files):
    public = ("--algorithm", "noiseless", "--steps", "2", "--seed", "1")
    assert run(files, *public, name="public").code == 0
    public_start = ("--start", files / "public", "--start-public")
    more = (*public_start, "--trained", "output", "--steps", "2", "--seed", "2")
    done = run(files, *more)
    assert done.code == 0, done.err
    before, after = (load_file(files / name / "model.safetensors") for name in ("public", "model"))
    moved = [name for name in before if not np.array_equal(before[name], after[name])]
    assert moved == ["output.bias"]
    about = json.loads((files / "model" / "privacy.json").read_text())["model"]["awd-lstm"]
    assert about["trained"] == ["output.bias"]
    assert about["start"] is not None
    # A run that began elsewhere is another run.
    elsewhere = run(files, *more[3:], "--resume")
    assert elsewhere.code == 2
    assert "another model" in elsewhere.err


def test_a_public_model_with_other_words_or_sizes_is_refused(files):
    public = ("--algorithm", "noiseless", "--steps", "1", "--seed", "1")
    assert run(files, *public, name="public").code == 0
    public_start = ("--start", files / "public", "--start-public")
    done = run(files, *public_start, "--hidden", "5", "--layers", "2")
    assert done.code == 2
    assert "another shape" in done.err
    (files / "words.txt").write_text("\n".join(WORDS[::-1]) + "\n")
    done = run(files, *public_start)
    assert done.code == 2
    assert "knows other words" in done.err


def test_what_a_start_has_spent_is_added(files):
    first = run(files, "--steps", "3", "--json", name="first")
    spent = json.loads(first.out)["statement"]
    alone = json.loads(run(files, "--steps", "1", "--json", name="alone").out)["statement"]
    done = run(files, "--start", files / "first", "--steps", "1", "--json")
    assert done.code == 0, done.err
    receipt = json.loads(done.out)
    assert receipt["statement"]["epsilon"] == spent["epsilon"] + alone["epsilon"]
    assert receipt["statement"]["delta"] == 2 * spent["delta"]
    assert receipt["start"] == spent
    assert "Of this run alone: epsilon for one user" in done.err
    # A third run adds to both, and one that is resumed has not forgotten either.
    third = run(files, "--start", files / "model", "--steps", "1", "--json", name="third")
    together = spent["epsilon"] + 2 * alone["epsilon"]
    assert json.loads(third.out)["statement"]["epsilon"] == pytest.approx(together, rel=1e-12)
    forgotten = run(files, "--steps", "2", "--resume", name="third")
    assert forgotten.code == 2
    assert "another model" in forgotten.err


def test_a_budget_and_an_epsilon_count_what_a_start_has_spent(files):
    first = run(files, "--steps", "3", "--json", name="first")
    spent = json.loads(first.out)["statement"]["epsilon"]
    more = ("--start", files / "first", "--steps", "2")
    too_small = str(spent * 0.99)
    for quick, option in ((QUICK, "--budget"), (QUICK[2:], "--epsilon")):
        done = run(files, *more, option, too_small, name=f"none{option}", quick=quick)
        assert done.code == 3, done.err
        assert "spent" in done.err
    within = run(files, *more, "--epsilon", str(spent + 0.5), "--json", quick=QUICK[2:])
    assert within.code == 0, within.err
    assert spent + 0.4 < json.loads(within.out)["statement"]["epsilon"] <= spent + 0.5


def test_a_start_without_a_guarantee_must_be_declared_public(files):
    assert run(files, "--algorithm", "noiseless", "--steps", "1", name="raw").code == 0
    done = run(files, "--start", files / "raw", "--steps", "1")
    assert done.code == 2
    assert "--start-public" in done.err
    assert run(files, "--start", files / "raw", "--start-public", "--steps", "1").code == 0


def test_a_start_with_a_guarantee_of_another_kind_cannot_be_added(files):
    users = ("--algorithm", "user-level", "--steps", "1")
    assert run(files, *users, name="users").code == 0
    done = run(files, "--start", files / "users", "--steps", "1")
    assert done.code == 2
    assert "cannot be added" in done.err


BAD = {
    "no noise": (["--steps", "1", "--epsilon", "1"], "one of the two"),
    "rate": (["--user-rate", "1.5"], "--user-rate must be"),
    "sentence rate": (["--sentence-rate", "-1"], "--sentence-rate must be"),
    "noise": (["--noise", "0"], "--noise must be"),
    "cell clip": (["--cell-ratio", "2"], "cell clip"),
    "algorithm": (["--algorithm", "magic"], "--algorithm must be one of"),
    "two kinds of entities": (["--entities-field", "entities"], "in one way"),
    "classes": (["--label-field", "kind"], "--labels"),
    "plot": (["--plot", "x.png"], "--evaluate"),
    "public what": (["--start-public"], "--start"),
    "no start": (["--start", "nowhere"], "no file"),
    "parts": (["--trained", "words"], "trained part"),
    "parts of another model": (["--trained", "lstm", "--model", "there"], "leave them out"),
    "resume": (["--resume"], "no run"),
    "steps": (["--steps", "0"], "--steps must be"),
}


@pytest.mark.parametrize(("options", "said"), BAD.values(), ids=BAD)
def test_bad_options_are_one_sentence(files, options, said):
    done = run(files, *options)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not (files / "model" / "model.safetensors").exists()


BAD_LINES = {
    "no object": ("[1]", "line 2"),
    "no tokens": ('{"user": "a"}', "no field tokens"),
    "tokens": ('{"user": "a", "tokens": "zanzibar", "tags": []}', "no list of strings"),
    "tags": ('{"user": "a", "tokens": ["zanzibar"], "tags": []}', "1 tokens but 0 tags"),
    "tag": ('{"user": "a", "tokens": ["zanzibar"], "tags": ["X"]}', "not O, B-LABEL"),
    "user": ('{"tokens": ["zanzibar"], "tags": ["O"]}', "no user"),
    "no text": ('{"user": "zanzibar", "tokens": [], "tags": []}', "has no text"),
}


@pytest.mark.parametrize(("line", "said"), BAD_LINES.values(), ids=BAD_LINES)
def test_bad_lines_are_named_and_not_shown(files, line, said):
    first = '{"user": "b", "tokens": ["tea"], "tags": ["O"]}\n'
    (files / "notes.jsonl").write_text(first + line + "\n")
    done = run(files, "--steps", "1")
    assert done.code == 2
    assert said in done.err
    assert not protected(done.err)


def test_no_users_at_all(files):
    (files / "notes.jsonl").write_text("")
    done = run(files, "--steps", "1")
    assert done.code == 2
    assert "no documents" in done.err


def test_a_bad_list_of_entities_is_refused_by_line(files):
    (files / "names.txt").write_text("zanzibar\n\tperson\n")
    done = run(files, "--steps", "1", "--gazetteer", files / "names.txt")
    assert done.code == 2
    assert "line 2" in done.err
    assert not protected(done.err)


def test_a_transformers_model_is_trained_by_adapters(files):
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    known = {word: number for number, word in enumerate(("<s>", "<unk>", *WORDS))}
    plain = Tokenizer(WordLevel(known, unk_token="<unk>"))
    plain.pre_tokenizer = Whitespace()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, bos_token="<s>", unk_token="<unk>"
    )
    config = transformers.GPT2Config(
        vocab_size=len(known), n_positions=16, n_embd=8, n_layer=1, n_head=2
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(files / "gpt2")
    fast.save_pretrained(files / "gpt2")
    options = ["--model", files / "gpt2", "--rank", "2", "--seed", "1", "--optimizer", "adam"]
    assert run(files, "--steps", "3", *options, name="whole").code == 0
    assert run(files, "--steps", "2", *options).code == 0
    done = run(files, "--steps", "3", *options, "--resume")
    assert done.code == 0, done.err
    whole, parts = (files / n / "model.safetensors" for n in ("whole", "model"))
    assert whole.read_bytes() == parts.read_bytes()
