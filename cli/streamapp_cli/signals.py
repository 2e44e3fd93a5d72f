"""What Ctrl-C and SIGTERM do to a run: the first one asks for a last commit, the second one ends it at once.

Before anything has begun, they just end the program.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Give what tells whether a stop was asked for; a second signal raises KeyboardInterrupt. For the main thread."""
    asked: list[int] = []

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
    """Let Ctrl-C end the program without a word: what it breaks off while it is imported tells of defects."""
    kept = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, kept)
