"""What Ctrl-C and SIGTERM do to a run: the first one asks for a last commit, the second one ends it at once."""

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
