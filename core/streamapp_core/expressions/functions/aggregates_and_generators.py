"""Aggregates and generators: calls that stand in certain lists only, where the checker takes them by name."""

from dataclasses import dataclass

MOST_COLLECTED = 1_000
"""The most values of a group that an aggregate collects."""


@dataclass(frozen=True, slots=True)
class Special:
    """A few calls that belong together: their names, how they are written, what they give and mean."""

    names: tuple[str, ...]
    usage: str
    result: str
    doc: str


AGGREGATES = (
    Special(("count",), "count(*), count(a)", "bigint", "Rows; rows where a is not null."),
    Special(
        ("count",),
        "count(distinct a)",
        "bigint",
        "How many different values there are, exactly. Each of them is kept.",
    ),
    Special(
        ("sum",),
        "sum(a)",
        "bigint, decimal or double",
        "Whole numbers wrap around; a decimal gets 10 more digits. Null without values.",
    ),
    Special(("avg", "mean"), "avg(a), mean(a)", "double, or decimal", "The sum over the count of what is not null."),
    Special(
        ("min", "max"),
        "min(a), max(a)",
        "the type of a",
        "The least and the greatest; NaN is the greatest number, and -0.0 is given as 0.0.",
    ),
    Special(
        ("first", "last"),
        "first(a), last(a)",
        "the type of a",
        "Of the values that are not null (Spark: with `ignore nulls`) those with the least and the latest event time; "
        "of equal times the one that came first, or last. Null without values.",
    ),
    Special(
        ("collect_list",),
        "array_join(slice(collect_list(a), 1, n), separator)",
        "string",
        f"The first n values (n is 1 to {MOST_COLLECTED}) in the order of their event times as texts, joined by the "
        "separator; those that are null are left out. An empty text without values.",
    ),
)
GENERATORS = (
    Special(
        ("explode",),
        "explode(split(text, pattern)) as name",
        "string",
        "A row for each part of the text between matches of the regular expression; none if it is null.",
    ),
)
AGGREGATE_NAMES = frozenset(name for special in AGGREGATES for name in special.names)
GENERATOR_NAMES = frozenset(name for special in GENERATORS for name in special.names)
