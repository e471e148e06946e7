"""The folder that parts go to: nothing of it is seen before all of it is there.

Beside the output lies ``OUT.unfinished``, which only its owner can look into. Every part has a
folder of its own in it, with the part, its record and how often it was begun. Once all parts are
there, they are moved together, the receipt and ``_SUCCESS`` are added, and the whole takes its
place by one renaming. A run that is stopped at any point is continued by the same command, and no
part that has a record is drawn again.
"""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from discreet.engines.parts import PartReceipt, attempts_of, prints_of, record_of
from discreet.engines.plan import Part
from discreet.engines.row_prints import FolderPrints
from discreet.engines.tasks import target_of
from discreet.errors import OutputError
from discreet.files import file_sha256, plain_json, private_folder, withdraw, written_whole
from discreet.parallel import in_threads
from discreet.receipt import PARTS_RECEIPT, Receipt
from discreet.release.vectors import SUFFIXES
from discreet.staging import PRIVATE, allow, held, remove_leftovers, sync_folder
from discreet.text.formats import BASES, suffix_of

SUCCESS = "_SUCCESS"
"""An empty file that says that a folder is whole, as other engines write it."""
_SUFFIX = ".unfinished"
_OF_FILES = {*SUFFIXES, *(f".{base}" for base in BASES)}
_JOB, _WHOLE, _PUBLISHED, _OLD = "job.json", "whole", "published", "old"
_REQUEST = "request"


@dataclass(frozen=True)
class Unfinished:
    """Where the parts of one release are gathered.

    Attributes:
        output: the folder that will be.
        path: where everything is until then.
        parts: all that there will be.
        made_with: fingerprint of what decides what is released.
    """

    output: Path
    path: Path
    parts: Sequence[Part]
    made_with: str

    def missing(self) -> list[Part]:
        """The parts that are not there yet; what lost tasks have left is removed."""
        done = in_threads(lambda part: self._receipt(part) is not None, self.parts)
        return [part for part, is_ in zip(self.parts, done, strict=True) if not is_]

    def receipts(self) -> list[PartReceipt]:
        """Of all parts, read back from what was written and compared with it."""
        receipts = [receipt for receipt in in_threads(self._receipt, self.parts) if receipt]
        if len(receipts) < len(self.parts):
            raise OutputError(
                f"{len(self.parts) - len(receipts)} parts of {self.path} are not what their "
                "records say; run the same command again, which makes them anew"
            )
        return receipts

    def prints(self, receipts: Sequence[PartReceipt]) -> FolderPrints:
        """Of the rows of all parts, as their tasks read them."""
        places = [prints_of(target_of(self.path, each.part)) for each in receipts]
        for place, receipt in zip(places, receipts, strict=True):
            if not place.is_file() or file_sha256(place) != receipt.prints:
                raise OutputError(
                    f"{self.path} has parts whose rows the ledger cannot know, since they were "
                    "made without it; delete that folder, nothing of which was released, and begin "
                    "again"
                )
        return FolderPrints.read(places)

    @property
    def attempts(self) -> int:
        """How often parts were begun, in all."""
        files = (attempts_of(target_of(self.path, part)) for part in self.parts)
        return sum(file.stat().st_size for file in files if file.exists())

    def publish(
        self,
        receipts: Sequence[PartReceipt],
        receipt: Receipt,
        commit: Callable[[Receipt], None] | None = None,
    ) -> Receipt:
        """Move the parts together, add the receipt, and give the whole its place.

        Args:
            receipts: of the parts.
            receipt: of the whole.
            commit: called with the receipt as it will be written, before anybody can see the whole.
        """
        whole = self.path / _WHOLE
        private_folder(whole)
        for part in self.parts:
            target = target_of(self.path, part)
            if target.exists():
                os.replace(target, whole / part.name)
        digests = {each.part.name: each.digest for each in receipts}
        receipt = self._written_before(receipt.of_output(digests), whole)
        receipt.write(whole / PARTS_RECEIPT)
        if commit is not None:
            commit(receipt)
        with written_whole(whole / SUCCESS):
            pass
        sync_folder(whole)
        self._take_place(whole)
        return receipt

    @property
    def request(self) -> str:
        """A name of this release, by which a ledger knows it again if it is booked a second time.

        Drawn at random and kept here, as long as the release is not whole.
        """
        place = self.path / _REQUEST
        if not place.exists():
            with written_whole(place, mode=PRIVATE) as temporary:
                temporary.write_text(secrets.token_hex(16), "ascii")
        return place.read_text("ascii")

    @staticmethod
    def _written_before(receipt: Receipt, whole: Path) -> Receipt:
        """The receipt of a run that was stopped here, if only the time of the two differs.

        Its digest may be in the ledger already.
        """
        place = whole / PARTS_RECEIPT
        if not place.exists():
            return receipt
        before = Receipt.read(place)
        same_time = receipt.with_section("written", before.about.get("written", ""))
        is_same = json.loads(same_time.to_json()) == json.loads(before.to_json())
        return before if is_same else receipt

    def discard(self) -> None:
        """Delete all parts: what was drawn is not released, and nobody has seen it."""
        _remove(self.path)

    def _take_place(self, whole: Path) -> None:
        (self.path / _PUBLISHED).touch(PRIVATE)
        if self.output.exists() and any(self.output.iterdir()):
            os.replace(self.output, self.path / _OLD)
        os.replace(whole, self.output)
        allow(self.output, 0o777)
        sync_folder(self.output.parent)
        _remove(self.path)

    def _receipt(self, part: Part) -> PartReceipt | None:
        target = target_of(self.path, part)
        if not target.parent.is_dir():
            return None
        for place in (target, record_of(target)):
            remove_leftovers(place)
        receipt = PartReceipt.read(record_of(target))
        if receipt is None:
            return None
        if receipt.made_with != self.made_with or receipt.part != part:
            raise OutputError(
                f"{part.name} of {self.path} was made with other settings, or of another file; "
                "delete that folder, nothing of which was released, and begin again"
            )
        if receipt.fits(target) or receipt.fits(self.path / _WHOLE / part.name):
            return receipt
        # Its task was stopped between the record and the file, and nobody has seen either.
        withdraw(record_of(target))
        return None


@contextmanager
def unfinished(
    output: Path, parts: Sequence[Part], made_with: str, *, force: bool = False
) -> Iterator[Unfinished | Receipt]:
    """Where to gather the parts, new or of a run that was stopped; held against other runs.

    A run that was stopped after its output had taken its place gives the receipt of that.

    Args:
        output: the folder that will be.
        parts: of the input.
        made_with: fingerprint of what decides what is released.
        force: replace an output of an earlier run.
    """
    path = unfinished_place(output)
    job = {"made_with": made_with, "parts": [part.to_dict() for part in parts]}
    try:
        output.absolute().parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path)
        anothers = _is_anothers(path)
        if not anothers:
            private_folder(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be made ({error.strerror}); check the path") from None
    if anothers:
        raise OutputError(f"{path} belongs to another user; move it away, or choose another output")
    with held(path) as ours:
        if not ours:
            raise OutputError(f"another run is writing to {path}; wait for it, or stop it")
        if (path / _PUBLISHED).exists() and not (path / _WHOLE).exists():
            receipt = Receipt.beside(output)
            _remove(path)
            if receipt is not None:
                yield receipt
                return
            private_folder(path)
        remove_leftovers(path / _JOB)
        if (path / _JOB).exists():
            try:
                earlier = plain_json((path / _JOB).read_bytes())
            except (OSError, ValueError):
                earlier = None
            if earlier != json.loads(json.dumps(job)):
                raise OutputError(
                    f"{path} holds parts of a release with other settings or of other files; "
                    "finish that one with its own command, or delete the folder: nothing of it "
                    "was released"
                )
        elif any(path.iterdir()):
            raise OutputError(
                f"{path} exists and was not made by discreet; move it away, or delete it"
            )
        else:
            check_output_folder(output, force=force)
            with written_whole(path / _JOB, mode=PRIVATE) as temporary:
                temporary.write_text(json.dumps(job), "utf-8")
        yield Unfinished(output, path, parts, made_with)


def _is_anothers(path: Path) -> bool:
    """Whether a folder that is there is somebody else's, who could open it again."""
    return path.exists() and os.name == "posix" and path.stat().st_uid != os.geteuid()


def _remove(path: Path) -> None:
    """Remove a folder by a name that nobody takes up again, should this be stopped half-way."""
    doomed = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    os.replace(path, doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def unfinished_place(output: Path) -> Path:
    """Where everything is until an output is whole."""
    return output.with_name(output.name + _SUFFIX)


def check_output_folder(output: Path, source: str = "", *, force: bool = False) -> None:
    """Refuse a folder that is there, unless it is empty, or one of ours and to be replaced.

    Nor may its name be that of a file: whoever chose it did not expect a folder.
    """
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output} is a file; a folder of parts needs another name")
    if f".{suffix_of(output.name)}" in _OF_FILES:
        raise OutputError(
            f"{output} has the name of a file, and what is released here is a folder of parts; "
            "leave out the ending"
        )
    above = Path(source).absolute() if source and Path(source).is_dir() else None
    if above is not None and above in (output.absolute(), *output.absolute().parents):
        raise OutputError(f"{output} is inside the input; choose another place")
    if not output.exists() or not any(output.iterdir()):
        return
    if not force:
        raise OutputError(
            f"{output} exists already and is not empty; choose another name, or use --force to "
            "replace it"
        )
    if not (output / PARTS_RECEIPT).is_file():
        raise OutputError(f"{output} is there and is no folder of parts; choose another name")
