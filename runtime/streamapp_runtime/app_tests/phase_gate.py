"""The gate of a test with steps: each phase waits until the app has processed all before it."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from streamapp_core.ssp import Ssp
from streamapp_systems.clock import Clock
from streamapp_systems.protocols import BadRecord, Consumer, EndsAnswer, FetchedBatch, KnownEnds

_PASSED = "passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPhase:
    """A part of a test that waits for those before it: first, `idle` milliseconds pass, then partitions may be read.

    `limits` has the offset up to which they may be, by stream and partition. With the last part of a `step`, by its
    number, the rows of `outputs` are looked at.
    """

    idle: int
    limits: Mapping[str, Sequence[int]]
    step: int | None = None
    outputs: tuple[str, ...] = ()


class PhaseGate:
    """The gate of all processors of an app, each in a thread of this process.

    A phase has passed when each processor has gone through a whole turn of its loop that neither read nor wrote
    anything and left nothing to do, while no other did either. How many have passed is kept in a folder: a start after
    a death comes to rest as all do, before any time has passed, and then where the last one stood, so that partitions
    are idle that were.
    """

    def __init__(
        self,
        phases: Sequence[HeldPhase],
        folder: Path,
        look: Callable[[HeldPhase], None],
        begin: Callable[[int], object],
    ) -> None:
        """Take the phases; `look` is called with each before its passing is noted in the folder.

        `begin` is called with the number of each when it begins.
        """
        self._phases = phases
        self._path = folder / _PASSED
        self._look = look
        self._begin = begin
        self._passed = int(self._path.read_text(encoding="ascii")) if self._path.exists() else 0
        self._current = -1
        self._changed = threading.Condition()
        self._changes = 0
        self._seen: dict[str, int] = {}
        self._rested: dict[str, int] = {}
        self._processors: Collection[str] = ()

    @property
    def is_open(self) -> bool:
        """Whether everything may be read."""
        return self._current >= len(self._phases)

    @property
    def now(self) -> int:
        """The time that has passed, in milliseconds: only steps let it pass."""
        return sum(phase.idle for phase in self._phases[: self._current + 1])

    def limit(self, ssp: Ssp) -> int | None:
        """Return the offset up to which a partition may be read now; None: to its end."""
        current = self._current
        if not self._phases or current >= len(self._phases) or ssp.stream not in self._phases[0].limits:
            return None
        return 0 if current < 0 else self._phases[current].limits[ssp.stream][ssp.partition]

    def wait(self, seconds: float) -> None:
        """Wait until more may be read, but only so long."""
        with self._changed:
            self._changed.wait(seconds)

    def expect(self, processors: Collection[str]) -> None:
        """Take the processors that there are now: all have to come to rest."""
        with self._changed:
            self._processors = processors
            self._changes += 1

    def end_turn(self, processor: str, *, quiet: bool) -> None:
        """Note the end of a turn of a processor's loop, in which it may have been `quiet`.

        Raises:
            RuntimeFailure, StreamSystemError: outputs can't be looked at.
        """
        with self._changed:
            if self.is_open:
                return
            if not quiet:
                self._changes += 1
            elif self._seen.get(processor) == self._changes:
                self._rested[processor] = self._changes
            self._seen[processor] = self._changes
            if all(self._rested.get(one) == self._changes for one in self._processors):
                self._pass()

    def _pass(self) -> None:
        if 0 <= self._current == self._passed:
            self._look(self._phases[self._passed])
            self._passed += 1
            temporary = self._path.with_suffix(".new")
            temporary.write_text(str(self._passed), encoding="ascii")
            temporary.replace(self._path)
        self._current = max(self._current + 1, self._passed - 1)
        self._begin(self._current)
        self._changes += 1
        self._changed.notify_all()


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedClock(Clock):
    """A clock by which only as much time passes as a test says, for what waits for the silence of partitions."""

    gate: PhaseGate

    @property
    def outlives_process(self) -> bool:
        """See `Clock.outlives_process`."""
        return True

    def monotonic_milliseconds(self) -> int:
        """See `Clock.monotonic_milliseconds`."""
        return self.gate.now


class GatedConsumer:
    """A consumer that reads partitions as far as a gate lets it; see `Consumer`."""

    def __init__(self, consumer: Consumer, gate: PhaseGate) -> None:
        self._consumer = consumer
        self._gate = gate
        self._positions: dict[Ssp, int] = {}
        self._ended: set[Ssp] = set()
        """Partitions whose end was read and is not reported yet: they end with all others."""

    def assign(self, starts: Mapping[Ssp, int], ends: Mapping[Ssp, int]) -> None:
        """See `Consumer.assign`."""
        self._consumer.assign(starts, ends)
        self._positions = dict(starts)

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[FetchedBatch]:
        """See `Consumer.poll`."""
        if self._gate.is_open:
            ended = sorted(self._ended.intersection(ssps))
            self._ended.difference_update(ended)
            batches = [self._end(ssp) for ssp in ended]
            return batches or self._read(ssps, max_rows, timeout)
        free = []
        for ssp in ssps:
            limit = self._gate.limit(ssp)
            left = 0 if limit is None else limit - self._positions[ssp]
            if limit is None:
                free.append(ssp)
            elif left > 0 and (batches := self._read([ssp], min(left, max_rows), 0)):
                return batches
        if free:
            return self._read(free, max_rows, timeout)
        if timeout:
            self._gate.wait(timeout)
        return ()

    def ask_ends(self, ssps: Collection[Ssp]) -> EndsAnswer:
        """See `Consumer.ask_ends`: of a partition that is held there is no more than may be read now."""
        limits = {ssp: limit for ssp in ssps if (limit := self._gate.limit(ssp)) is not None}
        if len(limits) < len(ssps):
            return self._consumer.ask_ends(ssps)
        return KnownEnds({ssp: self._positions[ssp] >= limit for ssp, limit in limits.items()})

    def close(self) -> None:
        """See `Consumer.close`."""
        self._consumer.close()

    def _read(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> list[FetchedBatch]:
        try:
            fetched = self._consumer.poll(ssps, max_rows, timeout)
        except BadRecord as bad:
            self._positions[bad.ssp] = bad.offset + 1
            raise
        batches = []
        for batch in fetched:
            self._positions[batch.ssp] = batch.next_offset
            held = batch.ended and self._gate.limit(batch.ssp) is not None
            if held:
                self._ended.add(batch.ssp)
            batches.append(replace(batch, ended=False) if held else batch)
        return batches

    def _end(self, ssp: Ssp) -> FetchedBatch:
        position = self._positions[ssp]
        return FetchedBatch(ssp=ssp, offset=position, next_offset=position, ended=True)
