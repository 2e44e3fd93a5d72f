"""Aggregates and generators: calls that stand in certain lists only, where the checker takes them by name."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Special:
    """One or two calls of a kind: their names, how they are written, what they give and mean."""

    names: tuple[str, ...]
    usage: str
    result: str
    doc: str


AGGREGATES = (
    Special(("count",), "count(*), count(a)", "bigint", "Rows; rows where a is not null."),
    Special(
        ("sum",),
        "sum(a)",
        "bigint, decimal or double",
        "Whole numbers wrap around; a decimal gets 10 more digits. Null without values.",
    ),
    Special(("avg", "mean"), "avg(a), mean(a)", "double, or decimal", "The sum over the count of what is not null."),
    Special(
        ("min", "max"), "min(a), max(a)", "the type of a", "The least and the greatest; NaN is the greatest number."
    ),
)
GENERATORS = (
    Special(
        ("explode", "split"),
        "explode(split(text, pattern)) as name",
        "string",
        "A row for each part of the text between matches of the regular expression; none if it is null.",
    ),
)
AGGREGATE_NAMES = frozenset(name for special in AGGREGATES for name in special.names)
GENERATOR_NAMES = frozenset(name for special in GENERATORS for name in special.names)
