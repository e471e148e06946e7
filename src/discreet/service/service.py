"""What a running service holds: its policy made ready, its queue, its counts, its ledger."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from discreet.arrays import Progress
from discreet.encoders.settings import EncoderSettings, MapSettings
from discreet.errors import DiscreetError, InvalidValue
from discreet.mechanisms.registry import names
from discreet.release.sentences import SentenceEmbedder
from discreet.service.accounts import Accounts
from discreet.service.batching import Batcher
from discreet.service.keys import ApiKey, ApiKeys
from discreet.service.metrics import Metrics
from discreet.service.policy import DEFAULT, Policy, Profile
from discreet.service.problems import Problem
from discreet.service.releasing import Job, JobRelease, TextReleaser, Vocabularies
from discreet.service.requests import Doorkeeper

T = TypeVar("T")
_MOST_CHOSEN = 8
_SWEEP_SECONDS = 10.0
"""From one look for what is to be forgotten to the next, whether requests come or not."""


class Service:
    """Everything that requests share. Made before the service listens, so that mistakes show then.

    Args:
        policy: what holds.
        progress: of reading and certifying spaces.
    """

    def __init__(self, policy: Policy, *, progress: Progress | None = None) -> None:
        self.policy, self.settings = policy, policy.service
        keys = None if self.settings.keys is None else ApiKeys.read(self.settings.keys)
        for key in keys or ():
            if key.profile is not None and key.profile not in policy.profiles:
                raise InvalidValue(f"profile of key {key.name} is not a profile of the policy")
        self.door = Doorkeeper(keys, self.settings.rate)
        self.accounts = Accounts.open(
            self.settings.ledger, self.settings.ledger_key, list(keys or ())
        )
        self.metrics = Metrics()
        self.vocabularies = Vocabularies()
        self.releasers = {
            name: TextReleaser(profile, self.vocabularies, progress=progress)
            for name, profile in policy.profiles.items()
        }
        self.embedder: SentenceEmbedder | None = None
        if (told := policy.embedding) is not None:
            maps = MapSettings(dim=told.dim, map=told.map)
            encoder = EncoderSettings(encoder=told.encoder)
            self.embedder = SentenceEmbedder.from_names(
                told.mechanism, told.settings, maps, encoder
            )
        self._chosen: OrderedDict[tuple[str, str, float, bool], TextReleaser] = OrderedDict()
        self.batcher = Batcher(
            self.settings.waiting,
            self.settings.timeout,
            self._charged if self.accounts.ledger is not None else None,
            lambda size: self.metrics.observe("discreet_batch_requests", size),
        )
        self.closing: list[Callable[[], Awaitable[None]]] = []
        self.sweeping: list[Callable[[], None]] = []
        self.stopping = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve the queue until the service stops; what waits then is served before."""
        self.batcher.start()
        sweep = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            self.stopping = True
            sweep.cancel()
            await self.batcher.stop()
            for close in self.closing:
                await close()
            self.accounts.close()

    async def _sweep(self) -> None:
        """Forget in time what is held for a while only."""
        while self.sweeping:
            await asyncio.sleep(_SWEEP_SECONDS)
            for forget in self.sweeping:
                forget()

    async def releaser_for(
        self,
        key: ApiKey,
        profile: str | None,
        mechanism: str | None,
        epsilon: float | None,
        readable: bool | None = None,
    ) -> TextReleaser:
        """The releaser that a request gets: of its key's profile, or of the one it names."""
        name = profile or key.profile or DEFAULT
        if key.profile not in (None, name):
            raise Problem(403, "this key has a profile of its own; leave out profile")
        if name not in self.releasers:
            raise Problem(422, f"profile must be one of {', '.join(self.releasers)}")
        own = self.releasers[name]
        if (mechanism, epsilon, readable) == (None, None, None):
            return own
        wanted = own.profile.chosen(mechanism, epsilon, readable)
        if wanted == own.profile:
            return own
        if not own.profile.choose:
            raise Problem(
                403,
                "the policy decides on mechanism, epsilon and readable; leave them out of the "
                "request",
            )
        if mechanism is not None and mechanism not in names("word"):
            raise Problem(422, f"mechanism must be one of {', '.join(names('word'))}")
        return await self._made(name, wanted)

    async def _made(self, name: str, wanted: Profile) -> TextReleaser:
        epsilon = float(wanted.settings.get("epsilon", 0.0))
        chosen = (name, wanted.mechanism, epsilon, wanted.readable)
        if chosen not in self._chosen:
            made = await self.batcher.in_thread(lambda: TextReleaser(wanted, self.vocabularies))
            self._chosen[chosen] = made
            while len(self._chosen) > _MOST_CHOSEN:
                self._chosen.popitem(last=False)
        return self._chosen[chosen]

    async def release(self, releaser: TextReleaser, job: Job) -> JobRelease:
        """Release a request's texts and charge for them, before a byte of them leaves."""
        outcome = await self.batcher.release(releaser, job)
        self.metrics.count("discreet_documents_total", len(outcome.texts), route=job.command)
        self.metrics.count("discreet_words_total", outcome.words, route=job.command)
        return outcome

    def _charged(
        self, releaser: TextReleaser, jobs: Sequence[Job], outcomes: Sequence[JobRelease]
    ) -> list[DiscreetError | None]:
        """Book what a batch released; in the releasing thread."""
        charges = [
            (releaser.charge(job, outcome, job.account), outcome.receipt)
            for job, outcome in zip(jobs, outcomes, strict=True)
            if job.account is not None
        ]
        refusals = iter(self.accounts.charge(charges) if charges else ())
        return [None if job.account is None else next(refusals) for job in jobs]

    async def within_time(self, work: Callable[[], T]) -> T:
        """Do other work in a thread of its own, for as long as a request may take."""
        try:
            async with asyncio.timeout(self.settings.timeout):
                return await asyncio.to_thread(work)
        except TimeoutError:
            raise Problem(
                504, "this took too long and was thrown away; send less at once"
            ) from None

    async def on_the_grid(self, began: float) -> None:
        """Wait for the next multiple of the grid after a request came."""
        grid = self.settings.time_grid_ms / 1000
        if grid:
            passed = time.monotonic() - began
            await asyncio.sleep(grid - passed % grid)
