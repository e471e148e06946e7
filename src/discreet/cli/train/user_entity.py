"""``discreet train user-entity``: a language model on raw text, private for users and entities."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import check
from discreet.cli import _options as options
from discreet.cli._terminal import counted, progress_bar, say
from discreet.cli.train import _user_entity_results as results
from discreet.errors import InvalidValue

if TYPE_CHECKING:
    from discreet.models.factors import FactorModel
    from discreet.training.user_entity.records import Encoder
    from discreet.training.user_entity.trainer import Outcome, UserText


def user_entity(
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="JSON lines, a sentence a line; also .gz.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the model.")],
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm",
            help="certified: users and entities, with figures that hold; user-level: DP-FedAvg; "
            "sample-level: DP-SGD, one sentence. No guarantee: published and published-optimized "
            "(the paper's), de-identified, noiseless.",
        ),
    ] = "certified",
    user_field: Annotated[str, typer.Option("--user-field", help="Whose sentence.")] = "user",
    tokens_field: Annotated[
        str | None, typer.Option("--tokens-field", help="A list of words (instead of a text).")
    ] = None,
    text_field: Annotated[str, typer.Option("--text-field", help="A text.")] = "text",
    tags_field: Annotated[
        str | None, typer.Option("--tags-field", help="BIO tags that mark entities, one a token.")
    ] = None,
    entities_field: Annotated[
        str | None,
        typer.Option("--entities-field", help="The list that 'discreet entities' adds."),
    ] = None,
    gazetteer: Annotated[
        Path | None,
        typer.Option("--gazetteer", help="A file of sensitive entities, one a line."),
    ] = None,
    categories: Annotated[
        str | None,
        typer.Option("--categories", help="Kinds of entities, with commas: person,org,... or all."),
    ] = None,
    label_field: Annotated[
        str | None, typer.Option("--label-field", help="Classify sentences by this field.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option("--labels", help="The possible labels, with commas. Public, not read off."),
    ] = None,
    steps: Annotated[int, typer.Option("--steps", help="Number of steps.")] = 100,
    user_rate: Annotated[
        float, typer.Option("--user-rate", help="Chance of a user in a step.")
    ] = 0.05,
    entity_rate: Annotated[
        float, typer.Option("--entity-rate", help="Chance of an entity in a step.")
    ] = 0.5,
    sentence_rate: Annotated[
        float,
        typer.Option(
            "--sentence-rate",
            help="Chance of a sentence without an entity; in sample-level of any sentence.",
        ),
    ] = 1.0,
    noise: Annotated[
        float | None, typer.Option("--noise", help="Noise in units of --clip; or --epsilon.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="Find the least noise for this after all steps."),
    ] = None,
    delta: Annotated[float, typer.Option("--delta", help="Failure probability.")] = 1e-5,
    clip: Annotated[
        float, typer.Option("--clip", help="Norm of a user's contribution, at most.")
    ] = 1.0,
    cell_ratio: Annotated[
        float,
        typer.Option(
            "--cell-ratio",
            help="Norm of a cell's contribution, at most, as a share of --clip. A cell: the "
            "sentences of one user that name the same entities.",
        ),
    ] = 0.1,
    holders: Annotated[
        int, typer.Option("--holders", help="An entity is used with at most so many users,")
    ] = 10,
    cells: Annotated[
        int,
        typer.Option("--cells", help="and in at most so many cells (see --cell-ratio) of each."),
    ] = 1,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse data outside these bounds; else drop.")
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option("--budget", help="Stop before a step that would take epsilon above this."),
    ] = None,
    population: Annotated[
        int,
        typer.Option(
            "--population",
            help="About how many users there are (sample-level: sentences), as a public guess; "
            "only scales the steps.",
        ),
    ] = 1000,
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", help="Of the optimiser.")
    ] = 0.1,
    optimizer: Annotated[str, typer.Option("--optimizer", help="sgd or adam.")] = "sgd",
    space: Annotated[
        str,
        typer.Option(
            "--space", "-s", help="Public vocabulary and first vectors: starter or a vector file."
        ),
    ] = "starter",
    max_words: Annotated[
        int | None, typer.Option("--max-words", help="Only the first N words of the space.")
    ] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option("--vocabulary", help="A PUBLIC list of words instead of a space."),
    ] = None,
    embedding: Annotated[
        int | None, typer.Option("--embedding", help="Length of word vectors, with --vocabulary.")
    ] = None,
    hidden: Annotated[int, typer.Option("--hidden", help="Units of a layer.")] = 128,
    layers: Annotated[int, typer.Option("--layers", help="Layers of the AWD-LSTM.")] = 1,
    weight_drop: Annotated[
        float, typer.Option("--weight-drop", help="Share of recurrent weights left out.")
    ] = 0.0,
    output_drop: Annotated[
        float, typer.Option("--output-drop", help="Locked dropout on the last layer.")
    ] = 0.0,
    embedding_drop: Annotated[
        float, typer.Option("--embedding-drop", help="Share of words left out.")
    ] = 0.0,
    start: Annotated[
        Path | None,
        typer.Option(
            "--start",
            help="Begin with the model in this folder, which this command trained on PUBLIC text.",
        ),
    ] = None,
    trained: Annotated[
        str | None,
        typer.Option(
            "--trained",
            help="Train only these parts of the AWD-LSTM, with commas: embedding, lstm, output. "
            "Fewer parameters, less noise.",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", help="A local transformers causal model, trained by adapters."),
    ] = None,
    rank: Annotated[int, typer.Option("--rank", help="Rank of the adapters of --model.")] = 4,
    evaluate: Annotated[
        str | None,
        typer.Option("--evaluate", help="A PUBLIC file like INPUT, to measure perplexity on."),
    ] = None,
    evaluate_every: Annotated[
        int, typer.Option("--evaluate-every", help="Steps between measurements.")
    ] = 50,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw perplexity over steps into this PNG file.")
    ] = None,
    checkpoint_every: Annotated[
        int, typer.Option("--checkpoint-every", help="Steps between checkpoints.")
    ] = 10,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in the output folder.")
    ] = False,
    federated: Annotated[
        int | None,
        typer.Option(
            "--federated",
            help="Simulate so many clients with Flower, each with a part of the users.",
        ),
    ] = None,
    seed: options.Seed = None,
    as_json: options.Json = False,
) -> None:
    """Train a language model (or a classifier) on raw text, private for users and entities.

    OUTPUT gets model.safetensors, vocabulary.txt, curve.json and the receipt privacy.json, which
    may be released, and a folder state/ with the spent budget and checkpoints, which may not. The
    budget is written before each step, so that a crash never hides what was spent. Nothing measured
    on INPUT is written; give --evaluate a public file.

    Example: discreet train user-entity notes.jsonl -o model --tokens-field tokens
    --tags-field tags --steps 200 --epsilon 8 --population 900
    """
    from discreet.training.user_entity.trainer import (
        Rules,
        UserEntityTrainer,
        calibrated,
        gather,
        quality,
    )

    if (noise is None) == (epsilon is None) and algorithm not in ("de-identified", "noiseless"):
        raise InvalidValue("give --noise or --epsilon, one of the two")
    if plot is not None and evaluate is None:
        raise InvalidValue("--plot draws perplexity over steps and needs --evaluate")
    if plot is not None:
        from discreet.tensors import refuse_existing

        check.one_of(plot.suffix, (".png",), "the ending of a plot's name")
        refuse_existing(plot, force=resume)
    rules = Rules(
        algorithm=algorithm,
        user_rate=user_rate,
        entity_rate=entity_rate,
        sentence_rate=sentence_rate,
        noise=1.0 if noise is None else noise,
        clip=clip,
        cell_clip=cell_ratio * clip,
        holders=holders,
        cells=cells,
        delta=delta,
        population=population,
        learning_rate=learning_rate,
        optimizer=optimizer,
    )
    check.whole(steps, "--steps", at_least=1)
    if epsilon is not None:
        check.positive(epsilon, "--epsilon")
    named = _classes(label_field, labels)
    sources = [tags_field is not None, entities_field is not None, gazetteer is not None]
    if algorithm not in ("noiseless", "user-level", "sample-level") and sum(sources) != 1:
        raise InvalidValue(
            "say what is a sensitive entity, in one way: --tags-field, --entities-field or "
            "--gazetteer"
        )
    if model is not None and (start is not None or trained is not None):
        raise InvalidValue(
            "--start and --trained are for the AWD-LSTM; leave them out with --model"
        )
    if model is not None:
        from discreet.models.language import AdaptedLanguageModel

        adapted = AdaptedLanguageModel.load(model, rank=rank, classes=len(named) or None)
        network: FactorModel = adapted
        words: Encoder = adapted
        known: Any = adapted.description
    else:
        network, words = _awd_lstm(
            space,
            max_words,
            vocabulary,
            embedding,
            named,
            {
                "hidden": hidden,
                "layers": layers,
                "weight_drop": weight_drop,
                "output_drop": output_drop,
                "embedding_drop": embedding_drop,
            },
            start,
            trained,
        )
        known = {"words": len(words), "fingerprint": words.fingerprint}  # type: ignore[attr-defined, arg-type]

    def read(name: str) -> "tuple[UserText, ...]":
        from discreet.models.vocabulary import UNKNOWN
        from discreet.text.entities.found import chosen_categories
        from discreet.text.entities.gazetteer import load_gazetteer
        from discreet.training.user_entity.records import RecordFields, read_sentences

        chosen = chosen_categories(None if categories is None else categories.split(","))
        fields = RecordFields(
            user=user_field,
            tokens=tokens_field,
            text=text_field,
            tags=tags_field,
            entities=entities_field,
            label=label_field,
        )
        return gather(
            read_sentences(
                name,
                fields,
                words,
                categories=chosen,
                gazetteer=None if gazetteer is None else load_gazetteer(gazetteer, chosen)[0],
                classes=named,
                masked=UNKNOWN if algorithm == "de-identified" and name == source else None,
            )
        )

    public = None if evaluate is None else read(evaluate)
    users = read(source)
    # The search takes seconds, so it waits until everything that can be refused has been read.
    if epsilon is not None:
        rules = calibrated(rules, steps, epsilon)
        say(f"Noise {rules.noise:.4g} keeps {steps:,} steps within epsilon = {epsilon:g}.")
    trainer = UserEntityTrainer(rules, users, network, seed=seed, strict=strict)
    results.say_dropped(trainer)

    def measured() -> dict[str, float]:
        found = {} if public is None else asdict(quality(network, public))
        return {name: value for name, value in found.items() if value is not None}

    def run(running: UserEntityTrainer) -> "Outcome":
        with progress_bar("training") as show:
            return running.run(
                steps,
                budget=budget,
                folder=output / results.STATE,
                resume=resume,
                checkpoint_every=checkpoint_every,
                evaluate=None if public is None else measured,
                evaluate_every=check.whole(evaluate_every, "--evaluate-every", at_least=1),
                progress=show,
            )

    if federated is None:
        outcome = run(trainer)
    else:
        from discreet.training.user_entity.federated import simulated

        outcome = simulated(trainer, federated, run)
    receipt = results.receipt_of(trainer, outcome, known, steps)
    results.write(output, trainer, outcome, receipt, words)
    if plot is not None:
        results.draw_curve(plot, outcome, algorithm)
    if as_json:
        typer.echo(json.dumps(receipt, indent=2))
    if outcome.stopped_by_budget:
        say(f"Stopped after {counted(outcome.charged, 'step')}: one more would exceed the budget.")
    say(*results.in_words(receipt, outcome), f"Written: {output}")


def _classes(label_field: str | None, labels: str | None) -> tuple[str, ...]:
    if (label_field is None) != (labels is None):
        raise InvalidValue("--label-field and --labels go together; the labels must be public")
    return () if labels is None else tuple(labels.split(","))


def _awd_lstm(
    space: str,
    max_words: int | None,
    vocabulary: Path | None,
    embedding: int | None,
    classes: tuple[str, ...],
    sizes: dict[str, Any],
    start: Path | None,
    trained: str | None,
) -> "tuple[FactorModel, Encoder]":
    from discreet.models.awd_lstm import PARTS, AwdLstm, AwdLstmShape
    from discreet.models.vocabulary import Vocabulary, read_vocabulary

    vectors = None
    if vocabulary is not None:
        words, width = read_vocabulary(vocabulary), embedding or 100
    else:
        import numpy as np

        from discreet.spaces.loaders import load_space

        if embedding is not None:
            raise InvalidValue("--embedding goes with --vocabulary; a space has its own vectors")
        public = load_space(space, max_words=max_words)
        kept = [i for i in range(len(public)) if i != public.unknown]
        words = Vocabulary(public.words[i] for i in kept)
        vectors, width = np.asarray(public.vectors)[kept], public.dimension
        vectors = vectors[len(kept) - (len(words) - 2) :]
    shape = AwdLstmShape(
        words=len(words),
        boundary=words.boundary,
        embedding=width,
        classes=len(classes) or None,
        **sizes,
    )
    weights = None
    if start is not None:
        from discreet.tensors import load_tensors

        weights, _ = load_tensors(start / results.MODEL, results.KIND)
        if read_vocabulary(start / results.VOCABULARY).fingerprint != words.fingerprint:
            raise InvalidValue(
                "the model of --start knows other words; give it and this run the same vocabulary"
            )
    parts = PARTS if trained is None else trained.split(",")
    return AwdLstm(shape, vectors=vectors, trained=parts, start=weights), words
