"""Moments as text: in Kubernetes' objects and for people, always in UTC."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def format_time(moment: datetime) -> str:
    """Write a moment to the second, as Kubernetes' `Time` (RFC 3339): `2026-01-02T03:04:05Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(moment: datetime) -> str:
    """Write a moment to the microsecond, as Kubernetes' `MicroTime`: `2026-01-02T03:04:05.000006Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def format_event_time(milliseconds: int) -> str:
    """Write an event time, in milliseconds since 1970, to the second, for people: `2026-01-02 03:04:05`."""
    return datetime.fromtimestamp(milliseconds / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def format_milliseconds(milliseconds: int) -> str:
    """Write a moment in milliseconds since 1970 to the millisecond (RFC 3339): `2026-01-02T03:04:05.006Z`."""
    moment = _EPOCH + milliseconds * _MILLISECOND
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_milliseconds(text: str) -> int:
    """Read a moment in ISO 8601 with its zone as milliseconds since 1970.

    Raises:
        ValueError: the text is none, or no calendar has it in UTC.
    """
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // _MILLISECOND
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from None
