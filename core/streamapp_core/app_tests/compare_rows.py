"""The comparison of the rows that were written with those that are expected."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_MISSING, _UNEXPECTED, _EQUAL = "-", "+", " "


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A row: `text` is its JSON, `values` its columns in the form in which equal ones are equal."""

    text: str
    values: Mapping[str, Hashable]

    def key(self, columns: Sequence[str]) -> tuple[Hashable, ...]:
        """Return the values of some columns."""
        return tuple(self.values[column] for column in columns)

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """The values of all columns."""
        return tuple(self.values.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """A line of a comparison: `sign` is `-` for a row that is missing, `+` for one too many, a space for any other."""

    sign: str
    text: str


def compare_rows(
    expected: Sequence[ComparedRow], written: Sequence[ComparedRow], order: Sequence[str] = ()
) -> tuple[DiffLine, ...]:
    """Return where rows differ from those expected; nothing if they don't.

    With columns in `order`, rows that are equal in these must come in the order of those expected.
    """
    if not order:
        return tuple(_compare_any_order(expected, written))
    of_expected, of_written = _by_key(expected, order), _by_key(written, order)
    found: list[DiffLine] = []
    for key in {**of_expected, **of_written}:
        wanted, there = of_expected.get(key, []), of_written.get(key, [])
        if [row.identity for row in wanted] != [row.identity for row in there]:
            found += [DiffLine(sign=_MISSING, text=row.text) for row in wanted]
            found += [DiffLine(sign=_UNEXPECTED, text=row.text) for row in there]
    return tuple(found)


def _compare_any_order(expected: Sequence[ComparedRow], written: Sequence[ComparedRow]) -> Iterator[DiffLine]:
    """Yield all rows that are expected, in their order, and those too many, if there is any difference."""
    wanted, there = (Counter(row.identity for row in rows) for rows in (expected, written))
    if wanted == there:
        return
    for row in expected:
        sign = _EQUAL if there[row.identity] > 0 else _MISSING
        there[row.identity] -= 1
        yield DiffLine(sign=sign, text=row.text)
    for row in sorted(written, key=lambda row: row.text):
        wanted[row.identity] -= 1
        if wanted[row.identity] < 0:
            yield DiffLine(sign=_UNEXPECTED, text=row.text)


def _by_key(rows: Sequence[ComparedRow], columns: Sequence[str]) -> dict[tuple[Hashable, ...], list[ComparedRow]]:
    found: defaultdict[tuple[Hashable, ...], list[ComparedRow]] = defaultdict(list)
    for row in rows:
        found[row.key(columns)].append(row)
    return dict(found)
