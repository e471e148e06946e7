"""The document path of ``discreet embed``: one private vector for each document of sentences."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import check
from discreet.arrays import Generator
from discreet.cli._terminal import counted, progress_bar, say
from discreet.errors import InvalidValue
from discreet.mechanisms.registry import DEFAULTS, find

if TYPE_CHECKING:
    from discreet.cli._vectors import VectorChoice
    from discreet.cli.embed import Job
    from discreet.encoders.candidate_store import CandidateStore
    from discreet.encoders.encoder import Encoder
    from discreet.release.vectors import VectorSet
    from discreet.text.readers import Batch, DocumentReader

_CHOOSE_NONE = ("vote-histogram", "truncation")
_BATCH = 1024


def embed_documents(choice: "VectorChoice", job: "Job") -> None:
    """Release a vector for each text, taken as a document whose sentences are protected."""
    from discreet.encoders.candidate_store import CandidateStore
    from discreet.encoders.encoder import load_encoder
    from discreet.protocols import Release
    from discreet.randomness import generator
    from discreet.release.vectors import receipt_path, write_vectors
    from discreet.text.fields import field_of
    from discreet.text.readers import open_documents

    name, epsilon, folder = _checked(choice, job)
    with open_documents(
        job.source,
        format=job.format,
        text_field=job.text_field,
        max_document_bytes=job.max_document_bytes,
        batch_documents=_BATCH,
    ) as reader:
        kept = {name: field_of(reader, name) for name in job.keep}
        store = CandidateStore.load(folder)
        documents = _Documents(name, store, epsilon, job)
        encoder = load_encoder(choice.encoder, pooling=choice.pooling)
        store.require(encoder.fingerprint)
        rng = generator(job.seed)
        parts: list[VectorSet] = []
        with progress_bar("embedding") as show:
            for batch in reader:
                parts += documents.released(batch, kept, encoder, rng)
                show(reader.bytes_read, reader.total_bytes or 0)
        values = documents.joined(parts)
        statement = documents.mechanism.statement
        if job.keep:
            statement = statement.with_public(f"what is kept as it is: {', '.join(job.keep)}")
        release = Release.of(values, statement, len(values), rng)
        receipt = documents.receipt(release, encoder, reader)
    write_vectors(job.output, values, receipt, force=job.force)
    say(
        f"Released {counted(len(values), 'document')} of {documents.sentences:,} sentences as "
        f"vectors of {values.dimension} dimensions with {name}, encoder "
        f"{encoder.name}.",
        *release.statement.lines(),
    )
    if documents.skipped:
        say(f"Left out: {counted(documents.skipped, 'document')} of fewer than 2 sentences.")
    say(f"Written: {job.output} and its receipt {receipt_path(job.output)}")


def _checked(choice: "VectorChoice", job: "Job") -> tuple[str, float, Path]:
    """Refuse what cannot work before anything is read."""
    from discreet.cli._vectors import VectorChoice

    name = choice.mechanism or DEFAULTS["document"]
    find(name, "document", what="--mechanism of --unit document")
    for option in ("delta", "dim", "map", "public", "public_field"):
        default = getattr(VectorChoice(), option, None)
        if choice.settings.get(option, getattr(choice, option, None)) != default:
            flag = "--" + option.replace("_", "-")
            raise InvalidValue(f"{flag} is for --unit sentence; leave it out")
    if job.pair_field is not None or job.label_field is not None:
        raise InvalidValue(
            "pairs and labels are released with --unit sentence only; leave out --pair-field and "
            "--label-field"
        )
    for column in job.keep:
        if column in ("candidate", "label", "row", "vector"):
            raise InvalidValue(
                f"--keep {column} has the name of another column of the output; rename it first"
            )
    if job.candidates is None:
        raise InvalidValue(
            f"{name} needs --candidates, a folder that 'discreet train candidates' "
            "made from public documents"
        )
    if choice.epsilon is None:
        raise InvalidValue(f"{name} needs --epsilon")
    if name in _CHOOSE_NONE:
        for flag, given in (
            ("--with-candidate-text", job.with_candidate_text),
            ("--selection", job.selection is not None),
        ):
            if given:
                raise InvalidValue(f"{name} chooses no public document; leave out {flag}")
    return name, check.positive(choice.epsilon, "--epsilon"), job.candidates


class _Documents:
    """A mechanism made from a store, and what came of it so far."""

    def __init__(self, name: str, store: "CandidateStore", epsilon: float, job: "Job") -> None:
        self.store, self.job = store, job
        self.mechanism: Any = _built(name, store, epsilon, job.selection)
        self.sentences = self.skipped = 0
        self._texts = _texts_of(self.mechanism, store) if job.with_candidate_text else None

    def released(
        self, batch: "Batch", kept: dict[str, Any], encoder: "Encoder", rng: "Generator"
    ) -> "list[VectorSet]":
        """The vectors of a batch; none if all its documents were left out."""
        import numpy as np

        from discreet.release.vectors import VectorSet
        from discreet.text.sentences import (
            kept_documents,
            long_enough,
            refuse_short,
            split_sentences,
        )

        sentences, offsets = split_sentences(batch.texts)
        if not self.job.skip_short:
            refuse_short(offsets, first_row=batch.first_row)
        enough = long_enough(offsets)
        self.skipped += int((~enough).sum())
        places = np.flatnonzero(enough)
        if not len(places):
            return []
        sentences, offsets = kept_documents(sentences, offsets, enough)
        self.sentences += len(sentences)
        vectors = encoder.encode(sentences)
        if self.mechanism.name == "deep-candidate":
            vectors = self.store.recoded(vectors)
        columns = {
            name: [values[place] for place in places]
            for name, values in ((name, take(batch)) for name, take in kept.items())
        }
        if self.mechanism.name in _CHOOSE_NONE:
            out = self.mechanism.release(vectors, rng, offsets)
        else:
            chosen = self.mechanism.select(vectors, rng, offsets)
            out = _choices(self.mechanism)[chosen]
            if self._texts is not None:
                columns["candidate"] = [self._texts[index] for index in chosen]
        return [VectorSet(out, rows=batch.first_row + places, kept=columns)]

    def joined(self, parts: "list[VectorSet]") -> "VectorSet":
        """All vectors together."""
        from discreet.release.vectors import VectorSet

        if not parts:
            raise InvalidValue(
                f"none of the {self.skipped} documents has 2 sentences; nothing can be released"
            )
        return VectorSet.joined(parts)

    def receipt(self, release: Any, encoder: "Encoder", reader: "DocumentReader") -> dict[str, Any]:
        """What was released and how, ready for JSON; nothing of the text."""
        from discreet import __version__

        mechanism = self.mechanism
        return {
            "discreet": __version__,
            "statement": release.statement.to_dict(),
            "in_words": release.statement.lines(),
            "mechanism": {
                "name": mechanism.name,
                "epsilon": mechanism.epsilon,
                "dimension": release.values.dimension,
                **_counts(mechanism),
            },
            "encoder": encoder.to_dict(),
            "candidates": {"fingerprint": self.store.fingerprint, "about": dict(self.store.about)},
            "counts": {
                "documents": len(release.values),
                "sentences": self.sentences,
                "left_out": self.skipped,
            },
            "input": {
                "format": reader.format,
                "text_field": reader.text_field,
                "kept": list(self.job.keep),
            },
        }


def _built(name: str, store: "CandidateStore", epsilon: float, selection: str | None) -> Any:
    given = {"store": store, "epsilon": epsilon, "selection": selection}
    return find(name, "document").build(given, called=lambda key: "--" + key)


def _choices(mechanism: Any) -> Any:
    """The public vectors that a mechanism chooses from."""
    return mechanism.candidates if mechanism.name == "deep-candidate" else mechanism.choices


def _texts_of(mechanism: Any, store: "CandidateStore") -> list[str]:
    """For each choice a public document that stands for it: itself, or the nearest candidate."""
    if mechanism.name == "deep-candidate":
        return list(store.texts)
    import numpy as np

    places = store.recoded(_choices(mechanism)).astype(np.float64)
    candidates = store.candidates.astype(np.float64)
    lengths = np.einsum("ij,ij->i", candidates, candidates) / 2
    return [store.texts[i] for i in (places @ candidates.T - lengths).argmax(axis=1)]


def _counts(mechanism: Any) -> dict[str, Any]:
    """How much there was to choose from."""
    if mechanism.name == "truncation":
        return {}
    found: dict[str, Any] = {"choices": len(_choices(mechanism))}
    if mechanism.name not in _CHOOSE_NONE:
        found["selection"] = mechanism.selection
    if mechanism.name == "deep-candidate":
        found["projections"] = len(mechanism.projections)
    return found
