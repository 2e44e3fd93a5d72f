"""Ctrl-C and SIGTERM in a run: the first one asks for a last commit, the second one ends it at once.

Before anything has begun, they just end the program.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether a stop was asked for; a second signal raises KeyboardInterrupt.

    Signals come to the main thread alone: in another one none is waited for.
    """
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def ask(number: int, _: FrameType | None) -> None:
        asked.append(number)
        if len(asked) > 1:
            raise KeyboardInterrupt

    kept = {number: signal.signal(number, ask) for number in _SIGNALS}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


@contextmanager
def quiet_interrupts() -> Iterator[None]:
    """End the program at Ctrl-C without a traceback, which an interrupted import would print."""
    kept = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, kept)
