"""``discreet train user-entity`` as a person would run it."""

import gzip
import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from command import but, called
from discreet.ledger import Ledger

NAMES = ("zanzibar", "timbuktu", "quetzal")
WORDS = ("tea", "cup", "the", "of", "went", "to", "saw")
QUICK = ["--noise", "20", "--user-rate", ".5", "--population", "6", "--hidden", "5"]

# What each option has no use for.
IDLE = {
    "--model": ["--hidden"],
    "noiseless": ["--noise", "--population"],
    "published": ["--population"],
}


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


def run(files, *options, source="notes.jsonl", name="model", how=called, quick=QUICK, again=True):
    fields = ["--tokens-field", "tokens"]
    if "--gazetteer" not in options and "--algorithm" not in options:
        fields += ["--tags-field", "tags"]
    vocabulary = ["--vocabulary", files / "words.txt", "--embedding", "4"]
    vocabulary = [] if "--model" in options else vocabulary
    left_out = [each for option in options for each in IDLE.get(str(option), ())]
    quick = but(quick, *left_out)[: len(quick) - 2 * len(left_out)]
    if again and "--resume" not in options:  # the runs of a test lie beside each other
        options += ("--again",)
    arguments = [files / source, "-o", files / name, *fields, *vocabulary, *but(quick, *options)]
    return how("train", "user-entity", *arguments, cache=files / "cache")


def protected(text):
    lowered = text.lower()
    return [w for w in (*NAMES, "marrakesh", "secret1") if w in lowered]


def test_a_model_comes_with_its_receipt_and_nothing_of_the_text(files):
    done = run(files, "--steps", "3", source="notes.jsonl.gz")
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
    assert "Dropped 6 sentences of 18 to keep the bounds" in loose.err


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
        *(
            "--label-field",
            "kind",
            "--labels",
            "0,1,2",
            "--optimizer",
            "sgd",
            "--learning-rate",
            "1",
        ),
        *("--evaluate", files / "notes.jsonl", "--evaluate-every", "20"),
        *("--plot", files / "curve.png"),
    )
    assert done.code == 0, done.err
    curve = json.loads((files / "model" / "curve.json").read_text())
    assert [point["step"] for point in curve] == list(range(41))
    assert f"perplexity {curve[0]['perplexity']:.4g} before training" in done.err
    assert curve[-1]["error_rate"] < 0.5  # two of three classes have the same words
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
    "parts of another model": (["--trained", "lstm", "--model", "there"], "nothing with --model"),
    "resume": (["--resume"], "no run"),
    "silent whom": (["--drop-out", "0.5"], "--drop-out does nothing without --federated"),
    "rank of no adapters": (
        ["--adapters", "all", "--rank", "7", "--model", "there"],
        "--rank does nothing with --adapters all",
    ),
    "whose rank": (["--rank", "7"], "--rank does nothing without --model"),
    "strict with whom": (["--algorithm", "user-level", "--strict"], "--strict does nothing with"),
    "adapters": (["--adapters", "norms", "--model", "there"], "--adapters must be one of"),
    "no model": (["--model", "nowhere"], "no model nowhere"),
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


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    pytest.importorskip("transformers")
    from tiny_causal import save_model

    return save_model(tmp_path_factory.mktemp("causal") / "tiny-llama", WORDS)


@pytest.mark.parametrize("kind", [(), ("--adapters", "lora", "--last-blocks", "1")])
def test_a_transformers_model_is_trained_by_adapters(files, causal, kind):
    options = ["--model", causal, "--rank", "2", "--seed", "1", "--optimizer", "adam", *kind]
    assert run(files, "--steps", "3", *options, name="whole").code == 0
    assert run(files, "--steps", "2", *options).code == 0
    done = run(files, "--steps", "3", *options, "--resume")
    assert done.code == 0, done.err
    for name in ("model.safetensors", "adapter_model.safetensors", "README.md"):
        whole, parts = (files / n / name for n in ("whole", "model"))
        assert whole.read_bytes() == parts.read_bytes()
    options[3] = "1"
    other = run(files, "--steps", "4", *options, "--resume")
    assert other.code == 2
    assert "another model" in other.err


def test_an_adapted_model_has_a_card_and_writes_text(files, causal):
    from peft import AutoPeftModelForCausalLM
    from transformers import AutoTokenizer

    # Small steps: what a model writes that noise has spoilt may well be nothing.
    small = ("--steps", "2", "--learning-rate", "0.001", "--seed", "1")
    done = run(files, *small, "--model", causal, "--evaluate", files / "notes.jsonl")
    assert done.code == 0, done.err
    folder = files / "model"
    for path in folder.rglob("*"):
        if path.is_file():
            assert not protected(path.read_bytes().decode("latin-1")), path.name
    receipt = json.loads((folder / "privacy.json").read_text())
    card = (folder / "README.md").read_text()
    assert f"(epsilon = {receipt['statement']['epsilon']:.6g})" in card
    assert f"perplexity {receipt['public_evaluation']['perplexity']:.4g}" in card
    assert all(f"Caveat: {caveat}." in card for caveat in receipt["statement"]["caveats"])
    assert called("verify", folder, cache=files).code == 0

    arguments = ["generate", folder, "-p", "the tea", "--tokens", "4", "--temperature", "0"]
    written = called(*arguments, "-p", "saw", cache=files)
    assert written.code == 0, written.err
    first, second = written.out.decode().splitlines()
    assert first.startswith("the tea")
    assert second.startswith("saw")
    assert written.err.count("Protects each user") == 1
    # The same as whoever opens the folder with peft gets.
    opened = AutoPeftModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("<s> the tea", return_tensors="pt").input_ids
    free = opened.generate(input_ids=ids, max_new_tokens=4, do_sample=False, pad_token_id=0)
    text = tokenizer.decode(free[0], skip_special_tokens=True).removeprefix("the tea")
    answer = json.loads(called(*arguments, "--json", cache=files).out)
    assert answer["texts"] == [{"prompt": "the tea", "text": text}]
    assert answer["statement"] == receipt["statement"]
    freely = [*arguments[:-1], "1", "--seed"]
    drawn = [called(*freely, seed, cache=files).out for seed in ("0", "0", "1", "2")]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1
    assert called(*arguments, "--chat", cache=files).code == 0

    # Another model below, and files that were changed, are refused.
    from tiny_causal import llama, save_model

    other = save_model(files / "other", WORDS, llama(len(WORDS) + 2, blocks=2))
    refused = called(*arguments, "--base", other, cache=files)
    assert refused.code == 4
    assert "not the model that these adapters were trained on" in refused.err
    nowhere = called(*arguments, "--base", files / "nowhere", cache=files)
    assert nowhere.code == 2
    assert "--base" in nowhere.err
    with (folder / "adapter_model.safetensors").open("ab") as file:
        file.write(b" ")
    assert called(*arguments, cache=files).code == 4


def test_a_transformers_model_is_trained_by_all_its_weights(files, causal):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    options = ["--model", causal, "--adapters", "all", "--learning-rate", "0.001"]
    seeded = [*options, "--seed", "1"]
    assert run(files, "--steps", "3", *seeded, name="whole").code == 0
    assert run(files, "--steps", "2", *seeded).code == 0
    done = run(files, "--steps", "3", *seeded, "--resume")
    assert done.code == 0, done.err
    for name in ("model.safetensors", "config.json", "README.md"):
        whole, parts = (files / n / name for n in ("whole", "model"))
        assert whole.read_bytes() == parts.read_bytes()
    folder = files / "model"
    assert not (folder / "adapter_config.json").exists()
    for path in folder.rglob("*"):
        if path.is_file():
            assert not protected(path.read_bytes().decode("latin-1")), path.name
    assert called("verify", folder, cache=files).code == 0
    card = (folder / "README.md").read_text()
    assert "numbers: every weight |" in card
    assert "peft" not in card
    # The same as whoever opens the folder with transformers gets.
    arguments = ["generate", folder, "-p", "the tea", "--tokens", "4", "--temperature", "0"]
    opened, tokenizer = (
        kind.from_pretrained(folder) for kind in (AutoModelForCausalLM, AutoTokenizer)
    )
    ids = tokenizer("<s> the tea", return_tensors="pt").input_ids
    free = opened.generate(input_ids=ids, max_new_tokens=4, do_sample=False, pad_token_id=0)
    text = tokenizer.decode(free[0], skip_special_tokens=True).removeprefix("the tea")
    answer = json.loads(called(*arguments, "--json", cache=files).out)
    assert answer["texts"] == [{"prompt": "the tea", "text": text}]
    refused = called(*arguments, "--base", causal, cache=files)
    assert refused.code == 2
    assert "--base is for adapters" in refused.err


def test_what_a_transformers_model_has_spent_is_added_up(files, causal):
    """Its folder opens like that of any public model: the receipt in it must not be overlooked."""
    options = ["--adapters", "all", "--steps", "1"]
    assert run(files, *options, "--model", causal, name="first", again=False).code == 0
    # Begun with the first, whatever is trained then; the users are in its statement already.
    for name, more in (("second", options), ("third", ["--steps", "1"])):
        started = ["--model", files / "first", *more]
        done = run(files, *started, name=name, again=name == "third")
        assert done.code == 0, done.err
    first, second, third = (
        json.loads((files / name / "privacy.json").read_text())
        for name in ("first", "second", "third")
    )
    for one in (second, third):
        assert one["start"] == first["statement"]
        assert one["statement"]["epsilon"] > 1.5 * first["statement"]["epsilon"]
    public = run(files, *options, "--model", files / "first", "--start-public", name="public")
    assert public.code == 0, public.err
    receipt = json.loads((files / "public" / "privacy.json").read_text())
    assert receipt["start"] is None
    idle = run(files, *options, "--model", causal, "--start-public", name="idle")
    assert idle.code == 2
    assert "has no receipt" in idle.err
    # Without a guarantee it could hide any text; and a folder that was changed is no start.
    raw = ["--algorithm", "noiseless", *options]
    assert run(files, *raw, "--model", causal, name="raw").code == 0
    refused = run(files, *options, "--model", files / "raw", name="hidden")
    assert refused.code == 2
    assert "no guarantee to add to" in refused.err
    (files / "first" / "curve.json").write_text("[]")
    assert run(files, *options, "--model", files / "first", name="changed").code == 4


def test_a_second_run_on_the_same_users_is_refused(files):
    """Whatever its folder, its model and its settings; what it began with is added up already."""
    one = {"again": False}
    assert run(files, "--steps", "1", name="first", **one).code == 0
    kept = (files / "first" / "state" / "users.json").read_text()
    assert not protected(kept)
    assert (files / "first" / "state" / "users.json").stat().st_mode & 0o077 == 0
    second = run(files, "--steps", "1", "--noise", "30", "--hidden", "3", name="second", **one)
    assert second.code == 3
    assert "has used some of the same users" in second.err
    assert "--again" in second.err
    assert not protected(second.err)
    assert not (files / "second").exists()
    lines = (files / "notes.jsonl").read_text().splitlines(keepends=True)
    for name, rows, code in (("overlap", lines[-4:], 3), ("others", lines[-3:], 0)):
        text = "".join(rows)
        if not code:
            text = text.replace("secret5", "somebody else")
        (files / f"{name}.jsonl").write_text(text)
        done = run(files, "--steps", "1", source=f"{name}.jsonl", name=name, **one)
        assert done.code == code, done.err
    # What is not for release does not count; nor does what is in the statement already.
    assert run(files, "--steps", "1", "--seed", "1", name="seeded", **one).code == 0
    assert run(files, "--algorithm", "noiseless", "--steps", "1", name="raw", **one).code == 0
    started = ("--start", files / "first", "--steps", "1")
    assert run(files, *started, name="goes on", **one).code == 0
    third = run(files, "--start", files / "goes on", "--steps", "1", name="and on", **one)
    assert third.code == 0, third.err
    assert run(files, *started, name="beside", **one).code == 3
    # A ledger adds up what is in it, and the first run is not.
    ledger = ("--ledger", files / "ledger.db", "--dataset", "notes")
    done = run(files, "--steps", "1", *ledger, name="booked", **one)
    assert done.code == 3
    assert "book both" in done.err
    with Ledger.open(files / "ledger.db") as kept:
        assert not list(kept.entries())
    booked = files / "in a ledger"
    for name in ("booked", "booked too"):
        arguments = ("--steps", "1", *ledger)
        assert run(files, *arguments, name=booked / name, **one).code == 0
    # Who knows may; it is said, and said again when the run goes on.
    done = run(files, "--steps", "1", name="second")
    assert done.code == 0
    assert "other runs may have used the same users" in done.err
    done = run(files, "--steps", "2", "--resume", name="second")
    assert "other runs may have used the same users" in done.err
    assert "other runs" not in (booked / "booked too" / "privacy.json").read_text()


def test_what_is_known_of_earlier_runs_is_read_carefully(files):
    one = {"again": False}
    assert run(files, "--steps", "1", name="first", **one).code == 0
    state = files / "first" / "state"
    spent = (state / "ledger.json").read_text()
    (state / "ledger.json").write_text(spent.replace('"charged": 1', '"charged": 0'))
    (state / "checkpoint.safetensors").unlink()
    assert run(files, "--steps", "1", name="nothing spent", **one).code == 0
    (files / "nothing spent" / "state" / "users.json").unlink()
    (state / "ledger.json").write_text("?")
    assert run(files, "--steps", "1", name="unknown", **one).code == 3
    (state / "users.json").write_text("{}")
    done = run(files, "--steps", "1", name="damaged", **one)
    assert done.code == 2
    assert "is damaged" in done.err


def test_only_adapted_models_write_text(files):
    assert run(files, "--steps", "1").code == 0
    done = called("generate", files / "model", cache=files)
    assert done.code == 2
    assert "only runs of --model" in done.err
