"""A log with two streams, `s` of two partitions and `o` of one, and a clock for those who wait for it."""

from pathlib import Path

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogAdmin, LogConsumer
from streamapp_systems.protocols import FetchedBatch, StreamDescriptor, TransactionOwner

STREAM = StreamDescriptor(name="s", system="log", address="app.s", format=StreamFormat.JSON)
OTHER = StreamDescriptor(name="o", system="log", address="app.o", format=StreamFormat.JSON)
OWNER = TransactionOwner(id="run-0", epoch=1)
SSPS = [Ssp("log", "s", 0), Ssp("log", "s", 1), Ssp("log", "o", 0)]
FIRST, SECOND, THIRD = SSPS


class FakeTime:
    """A clock that only sleeping moves; `on_sleep` is called each time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []
        self.on_sleep = iter(())

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds
        next(self.on_sleep, None)


def create(path: Path) -> None:
    admin = LogAdmin(path)
    admin.create({STREAM: 2, OTHER: 1})
    admin.close()


def reading(
    path: Path, starts: dict[Ssp, int], ends: dict[Ssp, int] | None = None, time: FakeTime | None = None
) -> LogConsumer:
    time = time or FakeTime()
    consumer = LogConsumer(path, [STREAM, OTHER], clock=time.clock, sleep=time.sleep)
    consumer.assign(starts, ends or {})
    return consumer


def poll(path: Path, starts: dict[Ssp, int], ends: dict[Ssp, int] | None = None) -> list[FetchedBatch]:
    consumer = reading(path, starts, ends)
    fetched = list(consumer.poll(list(starts), 1_000, 0))
    consumer.close()
    return fetched


def values(path: Path, ssp: Ssp) -> list[bytes | None]:
    return [message.value for part in poll(path, {ssp: 0}) for message in part.messages]
