"""The files of a run put in their places, in steps that can be stopped anywhere and gone on with.

Model, receipt and whatever goes with them are first made ready in the state of the run, whole or
not at all and readable by its owner alone. A ledger then gets the digest of that receipt, and only
then do they take their places, the receipt last. Whoever goes on with a run that was stopped in
between finishes this first: what was paid for is not lost, and no other model is made for it.
"""

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from discreet.errors import InputError
from discreet.files import withdraw
from discreet.ledger.dataset import DatasetLedger
from discreet.receipt import FOLDER_RECEIPT, Receipt
from discreet.release.booked import commit_receipt
from discreet.staging import ANYONE, PRIVATE, Digest, allow, folder_written_whole, sync_folder
from discreet.training.user_entity.earlier_runs import STATE

_READY = "ready"


def make_ready(run: Path, files: Mapping[str, bytes], receipt: Receipt) -> Receipt:
    """Put files aside with the receipt for them, which is given back."""
    digests = {n: Digest(hashlib.sha256(raw).hexdigest(), len(raw)) for n, raw in files.items()}
    written = receipt.of_output(digests)
    with folder_written_whole(run / STATE / _READY) as folder:
        for name, raw in {**files, FOLDER_RECEIPT: written.to_json().encode()}.items():
            place = folder / name
            place.touch(PRIVATE)
            place.write_bytes(raw)
            sync_folder(place)
        sync_folder(folder)
    sync_folder(run / STATE)
    return written


def put_in_place(run: Path) -> None:
    """Move what is ready to its places; what spoke of an earlier model is withdrawn first."""
    ready = run / STATE / _READY
    withdraw(run / FOLDER_RECEIPT)
    names = sorted(path.name for path in ready.iterdir() if path.name != FOLDER_RECEIPT)
    for name in (*names, FOLDER_RECEIPT):
        allow(ready / name, ANYONE)  # in a folder that is closed
        (ready / name).replace(run / name)
        if name in names[-1:]:
            sync_folder(run)  # before there is a receipt for them
    sync_folder(run)
    shutil.rmtree(ready)


def is_ready(run: Path) -> bool:
    """Whether a run was stopped before its files were all in their places."""
    return (run / STATE / _READY / FOLDER_RECEIPT).exists()


def finish(run: Path, ledger: DatasetLedger | None) -> Receipt:
    """Put in its place what a run that was stopped had made ready.

    Args:
        run: its folder.
        ledger: the one it is in. It must know this very receipt, or hold its reservation still;
            whatever else became of that is an error, and nothing is written.
    """
    ready = run / STATE / _READY
    receipt = Receipt.read(ready / FOLDER_RECEIPT)
    for name, digest in receipt.about["output"]["files"].items():
        place = ready / name if (ready / name).exists() else run / name
        if not place.is_file() or Digest.of(place) != Digest(**digest):
            raise InputError(
                f"{ready} is not what its receipt was written for, and the run cannot go on"
            )
    if ledger is not None:
        commit_receipt(ledger.ledger.reservation(receipt.about["ledger"]["entry"]), receipt)
    put_in_place(run)
    return receipt
