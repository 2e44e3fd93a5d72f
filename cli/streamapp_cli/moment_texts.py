"""Moments as texts."""

from streamapp_core.time_formats import format_milliseconds


def moment_text(milliseconds: int) -> str | int:
    """Return a moment in milliseconds since 1970 as a text; as the number that it is where no calendar has it."""
    try:
        return format_milliseconds(milliseconds)
    except (OverflowError, ValueError, OSError):
        return milliseconds
