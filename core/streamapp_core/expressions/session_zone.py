"""The time zone of an app, in which an expression reads and shows moments while it is written as SQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from streamapp_core.expressions.time_zones import UTC, TimeZone

_ZONE: ContextVar[TimeZone] = ContextVar("session_zone", default=UTC)


def session_zone() -> TimeZone:
    """Return the time zone of the expression that is being written."""
    return _ZONE.get()


@contextmanager
def in_zone(zone: TimeZone) -> Iterator[None]:
    """Write expressions in a time zone."""
    token = _ZONE.set(zone)
    try:
        yield
    finally:
        _ZONE.reset(token)
