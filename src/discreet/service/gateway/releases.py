"""The texts of a request replaced by their releases: remembered ones, and the rest drawn once."""

import asyncio
import json
from collections.abc import Sequence
from functools import lru_cache

from discreet.service.gateway.conversations import (
    EQUAL_MESSAGES,
    Conversation,
    ConversationCutter,
    Remembered,
)
from discreet.service.gateway.fields import ARGUMENTS, Slot
from discreet.service.gateway.restoring import Restorer
from discreet.service.keys import ApiKey
from discreet.service.problems import Problem, busy
from discreet.service.releasing import Job, TextReleaser
from discreet.service.service import Service
from discreet.statement import PrivacyStatement


class Released:
    """What was done for one request."""

    def __init__(self, statement: str) -> None:
        self.statement = statement  # as JSON
        self.values: dict[str, str] = {}
        self.words = self.new_words = 0

    @property
    def restorer(self) -> Restorer:
        """What puts the values back."""
        return Restorer(self.values)

    def headers(self) -> dict[str, str]:
        """What the client is told of it."""
        return {
            "Discreet-Statement": self.statement,
            "Discreet-Words": str(self.words),
            "Discreet-Words-Charged": str(self.new_words),
        }


class MessageReleaser:
    """Releases messages within their conversations.

    Args:
        service: whose queue and ledger are used.
        profile: of the policy, by its name.
    """

    def __init__(self, service: Service, profile: str) -> None:
        self._service = service
        plain = service.releasers[profile]
        # The mechanism is shared; what differs is how long a surrogate stays the same.
        cutter = None if plain.profile.identifiers is None else ConversationCutter(plain.profile)
        self._releaser = TextReleaser(
            plain.profile, service.vocabularies, cutter=cutter, mechanism=plain.sanitizer.given
        )

        self._stated = lru_cache(256)(self._state)

    def statement_of(self, passed: tuple[str, ...]) -> PrivacyStatement:
        """What holds for each word of a request of which this passes as it is."""
        as_they_are = (f"{what}, as they are" for what in passed)
        return self._releaser.statement.with_public(EQUAL_MESSAGES, *as_they_are)

    def _state(self, passed: tuple[str, ...]) -> str:
        return json.dumps(self.statement_of(passed).to_dict())

    async def replace(
        self,
        key: ApiKey,
        slots: Sequence[tuple[Conversation, Slot]],
        command: str,
        passed: Sequence[str] = (),
    ) -> Released:
        """Put releases in the places of texts.

        Args:
            key: who is charged.
            slots: the places of the texts, each with the conversation up to there, within which
                equal messages get equal releases.
            command: for the ledger.
            passed: what of the request passes as it is.
        """
        done = Released(self._stated(tuple(passed)))
        # What may be refused comes first: nobody shall wait for a release that is never drawn.
        texts = [each for each in slots if not self._answered(*each)]
        waiting: list[tuple[Slot, asyncio.Future[Remembered]]] = []
        new: list[tuple[bytes, Conversation, Slot]] = []
        for conversation, slot in texts:
            name = conversation.print_of("message", slot.text)
            release = conversation.released(name)
            if release is None:
                release = asyncio.get_running_loop().create_future()
                conversation.releases[name] = release
                new.append((name, conversation, slot))
            waiting.append((slot, release))
        self._service.metrics.count("discreet_remembered_total", len(slots) - len(new))
        if new:
            done.new_words = await self._draw(key, new, command)
        for slot, future in waiting:
            remembered = await asyncio.shield(future)
            for surrogate, start, end in remembered.places:
                done.values.setdefault(surrogate, slot.text[start:end])
            done.words += remembered.words
            slot.put(remembered.text)
        return done

    def _answered(self, conversation: Conversation, slot: Slot) -> bool:
        """Whether this is an answer that was handed out; it goes back as the upstream wrote it."""
        if slot.role == "assistant":
            known = conversation.answer_as_written(slot.form, slot.text)
            if known is not None:
                slot.put(known)
                return True
        if slot.form == ARGUMENTS:
            raise Problem(
                422,
                "a message has arguments of a tool call that this gateway did not hand out in "
                "this conversation, or forgot; begin a new conversation. Nothing was sent",
            )
        return False

    async def _draw(
        self, key: ApiKey, new: Sequence[tuple[bytes, Conversation, Slot]], command: str
    ) -> int:
        """Release what is new, in one job; whoever waits for the same message gets it, too."""
        futures = [conversation.releases[name] for name, conversation, _ in new]
        texts = [slot.text for _, _, slot in new]
        scope = [conversation for _, conversation, _ in new]
        job = Job(texts, scope=scope, account=key.name, command=command, together=True)
        try:
            outcome = await self._service.release(self._releaser, job)
        except BaseException as error:
            for (name, conversation, _), future in zip(new, futures, strict=True):
                conversation.releases.pop(name, None)
                gone = busy("who sent this message first went away; send it again")
                future.set_exception(error if isinstance(error, Exception) else gone)
                future.exception()  # nobody else may be waiting for it
            raise
        places: list[list[tuple[str, int, int]]] = [[] for _ in texts]
        for document, surrogate, (start, end) in outcome.entries:
            places[document].append((surrogate, start, end))
        for number, (conversation, future) in enumerate(zip(scope, futures, strict=True)):
            text = outcome.texts[number]
            words = outcome.draws[number]
            future.set_result(Remembered(text, words, tuple(places[number])))
            conversation.grow(len(text))
        return outcome.words
