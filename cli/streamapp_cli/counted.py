"""Numbers of things, for people."""


def counted(number: int, what: str) -> str:
    """Return a number and what is counted, which has an `s` unless it is one: `1 row`, `1,200 rows`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
