"""The time of day. It is read here only; what decides by it gets it as an argument."""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """Return the time of day, in UTC."""
    return datetime.now(UTC)


def time_of_day() -> int:
    """Return the time of day in milliseconds since 1970 UTC, as records and documents have it."""
    return time.time_ns() // 1_000_000
