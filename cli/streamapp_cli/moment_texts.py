"""Moments as texts."""

from datetime import UTC, datetime


def moment_text(milliseconds: int) -> str | int:
    """Return a moment in milliseconds since 1970 as a text; as the number that it is where no calendar has it."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return milliseconds
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
