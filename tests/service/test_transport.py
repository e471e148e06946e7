"""Answers that leave in one piece."""

import asyncio

from discreet.service.transport import OneWrite


class Wire:
    def __init__(self):
        self.sent, self.closed = [], False

    def write(self, data):
        assert not self.closed
        self.sent.append(data)

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed

    def get_extra_info(self, name):
        return f"the {name}"


def test_what_is_written_in_one_turn_of_the_loop_is_sent_at_once_and_in_order():
    async def talk():
        wire = Wire()
        transport = OneWrite(wire)
        assert transport.get_extra_info("socket") == "the socket"
        for part in (b"head ", b"body"):
            transport.write(part)
        assert wire.sent == []
        await asyncio.sleep(0)
        assert wire.sent == [b"head body"]
        transport.write(b"next")
        await asyncio.sleep(0)
        transport.write(b"last")
        transport.close()
        assert (wire.sent, wire.closed) == ([b"head body", b"next", b"last"], True)
        await asyncio.sleep(0)
        return wire

    assert len(asyncio.run(talk()).sent) == 3


def test_nothing_is_written_to_whoever_has_gone():
    async def talk():
        wire = Wire()
        transport = OneWrite(wire)
        transport.write(b"answer")
        wire.closed = True  # the other side went away
        await asyncio.sleep(0)
        return wire.sent

    assert asyncio.run(talk()) == []
