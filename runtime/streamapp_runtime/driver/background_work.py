"""Work beside the driver's own, in a thread that ends with it."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from streamapp_runtime.threads import Threads

if TYPE_CHECKING:
    from concurrent.futures import Future

_CLOSE_SECONDS = 10.0


class BackgroundWork(ABC):
    """Work in a thread of the driver: `with Work(...) as work:`; at the end it is told to stop, and waited for."""

    def __init__(self, name: str, threads: Threads) -> None:
        """Start nothing yet; `name` is the thread's."""
        self._name = name
        self._threads = threads
        self._ending = threads.event()
        self._working: Future[None] | None = None

    def __enter__(self) -> Self:
        if self._has_work():
            self._working = self._threads.start(self._name, self._work)
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        if self._working is not None:
            self._threads.wait([self._working], _CLOSE_SECONDS)

    def wait(self, seconds: float) -> None:
        """Wait while there is work, no longer than that."""
        self._threads.wait([] if self._working is None else [self._working], seconds, first=True)

    def check(self) -> None:
        """Check that the work has not failed for good.

        Raises:
            StreamSystemError: it has, and the app with it.
        """
        if self._working is not None and self._working.done():
            self._working.result()

    @abstractmethod
    def _has_work(self) -> bool:
        """Return whether a thread is needed."""

    @abstractmethod
    def _work(self) -> None:
        """Work until there is nothing more to do, or `_ending` is set."""
