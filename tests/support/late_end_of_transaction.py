"""A network that delivers ends of transactions late: after the client has asked again, and been answered."""

import math
import struct
import time
from dataclasses import dataclass
from random import Random

from support.kafka_proxy import END_TXN, PRODUCE, Request

FENCED = {47, 90}
"""INVALID_PRODUCER_EPOCH and PRODUCER_FENCED: the answers to a request of an earlier epoch."""


@dataclass(slots=True, kw_only=True)
class _Held:
    """A request that is held back, until the client has asked again and sent so many Produce requests after that."""

    request: Request
    produced: int
    since: float
    asked_again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """An end of a transaction that came after the next one had begun, and the broker's answer to it."""

    transactional_id: str
    producer_epoch: int
    commit: bool
    error: int


class LateEndOfTransaction:
    """A policy of the proxy: of the ends of transactions it holds some back, and others lose their answers.

    Either way the client's connection ends. What was held back arrives in the midst of the next transaction.
    """

    def __init__(self, random: Random, held: float, unanswered: float = 0.0) -> None:
        """Take the shares of ends to hold back, and to leave without an answer."""
        self._random = random
        self._shares = held, unanswered
        self._held: dict[str, _Held] = {}
        self.late: list[Late] = []
        self.unanswered = 0
        self.shortest_wait = math.inf
        """Seconds until the client asked again, at the least."""

    def __call__(self, request: Request) -> bool:
        if request.api_key == END_TXN:
            return self._end(request)
        if request.api_key == PRODUCE and (held := self._held.get(request.transactional_id)) is not None:
            self._count(held)
        return True

    def _end(self, request: Request) -> bool:
        held = self._held.get(request.transactional_id)
        if held is not None:
            if not held.asked_again:
                self.shortest_wait = min(self.shortest_wait, time.monotonic() - held.since)
            held.asked_again = True
            return True
        chance = self._random.random()
        share, unanswered = self._shares
        if chance < share:
            now = time.monotonic()
            self._held[request.transactional_id] = _Held(
                request=request, produced=self._random.randint(1, 3), since=now
            )
            request.connection.kept = True
            request.connection.cut()
            return False
        if chance < share + unanswered:
            self.unanswered += 1
            request.connection.cut()
        return True

    def _count(self, held: _Held) -> None:
        if not held.asked_again:
            return
        held.produced -= 1
        if held.produced == 0:
            request = held.request
            del self._held[request.transactional_id]
            _, epoch, commit = request.ending
            answer = request.connection.deliver(request)
            request.connection.end()
            error = struct.unpack_from(">h", answer, 4)[0]
            self.late.append(
                Late(transactional_id=request.transactional_id, producer_epoch=epoch, commit=commit, error=error)
            )
