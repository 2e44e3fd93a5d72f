"""Lines of CSV as people and programs write them, and worse: quotes that stand wrong, escapes, spaces of all kinds."""

import random

_VALUES = [
    "1", "-1", "+5", " 2", "300", "1.5", "1e5", "NaN", "-NaN", "Inf", "-Inf", "Infinity", "true", "TRUE", "False",
    "2020-01-01", "2020-01-01 01:02:03", "2020-01-01T01:02:03Z", "x", "é", "🙂", "1,5", "2020", "20", "9999999999",
    "1d", "0x10", "2147483648", "1.005", "@5", "2020-13-01", "2020-01-01 00:00:00GMT", "+2020", "1.", ".", "-129",
]  # fmt: skip


def csv_text(draw: random.Random) -> str:
    """Return a line of some values."""
    separator = draw.choice([",", ",", ",", "|", "\t"])
    return separator.join(_token(draw) for _ in range(draw.choice([0, 1, 2, 3, 4])))


def _token(draw: random.Random) -> str:
    kind = draw.random()
    if kind < 0.35:
        return draw.choice(_VALUES)
    if kind < 0.6:
        return f'"{draw.choice(_VALUES)}"'
    return "".join(draw.choice('ab"""\\\\, |\t\n\r1') for _ in range(draw.choice([0, 1, 2, 3, 5, 9])))
