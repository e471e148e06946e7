"""A folder of files in, a folder of Parquet out, with one receipt: on any engine the same release.

:func:`sanitize_folder` does to many files what ``sanitize_file`` does to one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from discreet.arrays import Progress
from discreet.engines.folder import Unfinished, check_output_folder, unfinished, unfinished_place
from discreet.engines.noise import CAVEAT as KEY_CAVEAT
from discreet.engines.noise import RunKey
from discreet.engines.parts import PartReceipt
from discreet.engines.plan import Part, planned
from discreet.engines.row_prints import FolderPrints, RowKey
from discreet.engines.settings import EngineSettings
from discreet.engines.tasks import Engine
from discreet.engines.work import SanitizeWork, Work
from discreet.errors import BudgetExceeded, DiscreetError, InputError
from discreet.ledger.book import Reservation
from discreet.ledger.charge import Charge
from discreet.ledger.dataset import DatasetLedger
from discreet.ledger.rows import CHARGE, REFUSE, screened
from discreet.receipt import Receipt
from discreet.release.booked import commit_receipt, with_entry
from discreet.release.handover import HandoverSettings
from discreet.release.text import Sanitizer
from discreet.release.whole import DELTA
from discreet.settings import fields_as_keywords
from discreet.text.fates import ColumnSettings
from discreet.text.readers import ReadingSettings


@fields_as_keywords
def sanitize_folder(
    source: str | Path,
    output: str | Path,
    sanitizer: Sanitizer | Callable[[], Sanitizer],
    settings: EngineSettings | None = None,
    *,
    columns: ColumnSettings,
    reading: ReadingSettings,
    handover: HandoverSettings,
    accept_weak: bool = False,
    whole_delta: float = DELTA,
    progress: Progress | None = None,
    preparing: Progress | None = None,
    ledger: DatasetLedger | None = None,
) -> Receipt:
    """Sanitise the texts of many files, part by part, each once.

    The fields of ``columns``, ``reading`` and ``handover`` are keywords of this function, too.

    Args:
        source: a folder, a pattern or a file: txt, csv, tsv, jsonl (each also .gz) or parquet.
        output: a folder for Parquet files, which must not be there or be empty.
        sanitizer: of a space and a mechanism that are known by name, so that every worker can make
            the same one; or a function that makes it.
        settings: which engine, and how many workers.
        columns: which of them hold texts, and what becomes of the others.
        reading: how the files are read.
        handover: for whom it is, and whether it may replace a folder of an earlier release.
        accept_weak: release even if the setting protects next to nothing.
        whole_delta: what may be given away for a smaller epsilon of whole texts; 0 for none.
        progress: called with the parts done and in all.
        preparing: called with (done, total) while public data is prepared.
        ledger: see :func:`release_folder`.
    """
    work = SanitizeWork(
        sanitizer=sanitizer,
        fates=columns.fates,
        reading=reading,
        accept_weak=accept_weak,
        whole_delta=whole_delta,
        keyed=settings is not None and settings.keyed_noise,
    )
    return release_folder(
        source,
        output,
        work,
        settings,
        handover=handover,
        progress=progress,
        preparing=preparing,
        ledger=ledger,
    )


@fields_as_keywords
def release_folder(
    source: str | Path,
    output: str | Path,
    work: Work,
    settings: EngineSettings | None = None,
    *,
    handover: HandoverSettings,
    progress: Progress | None = None,
    preparing: Progress | None = None,
    ledger: DatasetLedger | None = None,
) -> Receipt:
    """Release the files of a folder or a pattern, part by part, each once.

    If the run is stopped, the same call continues it: finished parts are not drawn again. The
    output appears whole or not at all.

    Args:
        source: a folder, a pattern or a file: txt, csv, tsv, jsonl (each also .gz) or parquet.
        output: a folder, which must not be there or be empty.
        work: what is done to each part.
        settings: which engine, and how many workers.
        handover: for whom it is, and whether it may replace a folder of an earlier release; or its
            fields as keywords.
        progress: called with the parts done and in all.
        preparing: called with (done, total) while public data is prepared.
        ledger: where the whole is booked, for its longest text. Parts are drawn first, since only
            then it is known how long that is, and wait in a folder that only its owner can look
            into; they are deleted if the budget does not allow them, or if a row was released
            before and its policy is not ``charge``: what a folder releases is not kept to be handed
            out. Copies of a row add up, as in a file.
    """
    chosen, place = settings or EngineSettings(), Path(output)
    resumes, force = unfinished_place(place).exists(), handover.force
    if ledger is not None:
        _require_budget(ledger, resumes)
    check_output_folder(place, str(source), force=force or resumes)
    parts, _ = planned(
        str(source), work.schema_of, format=work.reading.format, part_rows=chosen.part_rows
    )
    sizes = {part.source: part.size for part in parts}
    work.prepare(sum(sizes.values()), preparing)
    with unfinished(place, parts, work.fingerprint, force=force) as state:
        if isinstance(state, Receipt):
            return state
        missing = state.missing()
        if work.keyed:
            RunKey.make(state.path)
        if ledger is not None:
            RowKey.make(state.path, ledger)
        engine_said = {"name": chosen.engine or "local"}
        if missing:
            try:
                engine = chosen.start()
            except DiscreetError:
                if not state.attempts:  # there is nothing to continue
                    state.discard()
                raise
            try:
                _run(engine, state, missing, work, progress)
            finally:
                engine.close()
        receipts = state.receipts()
        attempts = state.attempts
        receipt = work.receipt(receipts).with_section(
            "engine", {**engine_said, "parts": len(parts), "attempts": attempts}
        )
        receipt = receipt.between(handover.operator, handover.recipient)
        receipt = _with_failures(receipt, attempts - len(parts), work.keyed)
        if ledger is None:
            return state.publish(receipts, receipt)
        return _published(ledger, work, state, receipts, receipt)


def _require_budget(ledger: DatasetLedger, resumes: bool) -> None:
    """Refuse before anything is drawn what is known then: that nothing is left."""
    if resumes:  # the last of the budget may have been reserved for this very release
        return
    left = ledger.ledger.budget(ledger.dataset).left
    if left is not None and left.nano == 0:
        raise BudgetExceeded(
            "nothing is left of the budget of this data set; raise the limit", remaining=left
        )


def _published(
    ledger: DatasetLedger,
    work: Work,
    state: Unfinished,
    receipts: Sequence[PartReceipt],
    receipt: Receipt,
) -> Receipt:
    """Book the whole by its receipt, and give it its place once the ledger has it in writing."""
    prints = state.prints(receipts)
    charge = Charge(
        dataset=ledger.dataset,
        command=ledger.command,
        statement=work.longest(receipts, receipt, prints.most),
        mechanism=receipt.mechanism["name"],
        units=work.units(receipt),
    )
    try:
        # A run that was stopped while it published may have reserved, or booked, already.
        with ledger.reserved(charge, request=state.request) as reservation:
            _remember(ledger, reservation, prints)
            booked = with_entry(receipt, reservation, charge)
            return state.publish(receipts, booked, partial(commit_receipt, reservation))
    except BudgetExceeded:
        state.discard()
        raise


def _remember(ledger: DatasetLedger, reservation: Reservation, prints: FolderPrints) -> None:
    """Let the ledger know the rows again, and refuse those that it knows of another release."""
    own, name = ledger.ledger, ledger.dataset
    for some in prints.texts() if ledger.again != CHARGE else ():
        seen = zip(some, own.seen_prints(name, list(some.values())), strict=True)
        again = [(row, each) for row, each in seen if each and each.entry != reservation.id]
        if again:
            screened([each for _, each in again], REFUSE, rows_before=again[0][0])
    for some in prints.texts():
        own.remember_prints(reservation, name, list(some.values()))


def _run(
    engine: Engine,
    state: Unfinished,
    missing: Sequence[Part],
    work: Work,
    progress: Progress | None,
) -> None:
    total = len(state.parts)
    done = total - len(missing)
    for outcome in engine.run(missing, work.to_json(), str(state.path.absolute())):
        if outcome["error"] is not None:
            raise InputError(
                f"{outcome['error']}. {done} of {total} parts are done and wait in {state.path}: "
                "the same command continues, and until then nothing is released"
            )
        done += 1
        if progress is not None:
            progress(done, total)


def _with_failures(receipt: Receipt, failed: int, keyed: bool) -> Receipt:
    """Say what the guarantee assumes, where an attempt was thrown away or noise has a key."""
    caveats = [KEY_CAVEAT] * keyed
    if failed > 0:
        same = ", with the same noise where index and libraries were the same" * keyed
        caveats.append(
            f"{failed} attempts at parts failed and were made anew{same}; what they had drawn was "
            "discarded unread, and that they failed is assumed not to depend on it"
        )
    return replace(receipt, statement=receipt.statement.with_caveats(*caveats))
