"""Threads whose results can be waited for, and events between them."""

import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, wait
from typing import Any, Protocol, TypeVar

_Result = TypeVar("_Result")


class Event(Protocol):
    """A flag that one thread sets and others wait for."""

    def set(self) -> None:
        """Set the flag; it stays set."""
        ...

    def is_set(self) -> bool:
        """Return whether the flag is set."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the flag is set, for so many seconds at most; return whether it is."""
        ...


class Threads(Protocol):
    """Starts threads, and waits for them."""

    def start(self, name: str, function: Callable[[], _Result], /) -> Future[_Result]:
        """Run a function in a thread of its own; the future has what it returns or raises."""
        ...

    def wait(self, futures: Collection[Future[Any]], seconds: float | None, /, *, first: bool = False) -> None:
        """Wait until all futures are done, or the `first` of them, but no longer than `seconds` (None: for ever).

        Of no futures there is no first one: that waits for the whole time.
        """
        ...

    def event(self) -> Event:
        """Make an event that is not set."""
        ...


class OperatingSystemThreads:
    """The threads of this process."""

    def start(self, name: str, function: Callable[[], _Result], /) -> Future[_Result]:
        """See `Threads.start`."""
        return in_thread(name, function)

    def wait(self, futures: Collection[Future[Any]], seconds: float | None, /, *, first: bool = False) -> None:
        """See `Threads.wait`."""
        if first and not futures and seconds is not None:
            time.sleep(seconds)  # which `wait` would not do
        else:
            wait(futures, seconds, FIRST_COMPLETED if first else ALL_COMPLETED)

    def event(self) -> Event:
        """See `Threads.event`."""
        return threading.Event()


def in_thread(name: str, function: Callable[[], _Result]) -> Future[_Result]:
    """Run a function in a thread of its own; the future has what it returns or raises."""
    future: Future[_Result] = Future()

    def run() -> None:
        future.set_running_or_notify_cancel()
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - whoever waits decides
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
