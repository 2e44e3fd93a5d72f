"""Looks for new files, one after the other, in a thread: to count the records of large files takes long."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from threading import Event

from streamapp_systems.folder.admin import open_journal
from streamapp_systems.folder.growing_files import GrowingFiles

INTERVAL = 1.0
"""Seconds from the end of a look to the next one."""
_BUDGET = 3.0
"""Seconds after which a look stops counting, so that what it has found can be read; the next one goes on at once."""

Partitions = tuple[str, int]


class LookThread:
    """Looks at streams, by name, for new files of some of their partitions. Its methods are called by one thread."""

    def __init__(
        self,
        streams: Mapping[str, tuple[GrowingFiles, frozenset[int]]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._streams = streams
        self._clock = clock
        self._stopping = Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="files")
        self._running: Future[tuple[dict[Partitions, int], frozenset[Partitions]]] | None = None
        self._begun = 0
        self._wanted = 0
        self._due = clock()
        self._began_at = self._due
        self._ends: dict[Partitions, int] = {}
        self._incomplete: frozenset[Partitions] = frozenset()

    @property
    def done(self) -> int:
        """The number of the last look that has ended; they are numbered from 1 on."""
        return self._begun - (self._running is not None)

    def request(self) -> int:
        """Have a look made as soon as possible; return the number of one that begins from now on."""
        self._wanted = self._begun + 1
        return self._wanted

    def step(self) -> bool:
        """Take the result of a look that has ended, and begin the next one when it is due; return whether one has.

        Raises:
            StreamSystemError: the look failed.
        """
        ended = self._running is not None and self._running.done()
        if self._running is not None and ended:
            running, self._running = self._running, None
            now = self._clock()
            self._ends, self._incomplete = running.result()
            taken = now - self._began_at
            interval = 0.0 if taken >= _BUDGET else max(INTERVAL, taken)
            self._due = now + max(interval, *(stream.pause for stream, _ in self._streams.values()))
        if self._streams and self._running is None and (self._wanted > self._begun or self._clock() >= self._due):
            self._begun += 1
            self._began_at = self._clock()
            self._running = self._thread.submit(self._look)
        return ended

    def wait(self, seconds: float) -> None:
        """Wait until a look has ended or is due, at most so long."""
        if self._running is not None:
            wait([self._running], seconds)
        else:
            self._stopping.wait(max(0.0, min(seconds, self._due - self._clock())))

    def end(self, stream: str, partition: int) -> int:
        """Return the offset after the last record of a partition, as the last look found it."""
        return self._ends.get((stream, partition), 0)

    def incomplete(self, stream: str, partition: int) -> bool:
        """Return whether the last look found files of a partition that are still being written."""
        return (stream, partition) in self._incomplete

    def close(self) -> None:
        """End the thread after the file that it counts now."""
        self._stopping.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _look(self) -> tuple[dict[Partitions, int], frozenset[Partitions]]:
        ends: dict[Partitions, int] = {}
        incomplete: set[Partitions] = set()
        until = self._clock() + _BUDGET

        def stopping() -> bool:
            return self._stopping.is_set() or self._clock() >= until

        for name, (stream, partitions) in self._streams.items():
            with closing(open_journal(stream)) as journal:
                incomplete |= {(name, number) for number in stream.look(journal, partitions, stopping)}
                ends |= {(name, number): end for number, end in journal.ends(partitions).items()}
        return ends, frozenset(incomplete)
