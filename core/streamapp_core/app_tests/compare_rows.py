"""The comparison of the rows that were written with those that are expected."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_MISSING, _UNEXPECTED, _EQUAL = "-", "+", " "
_TOLERANCE = 5e-9
"""Half of the ninth digit of a floating number: the last digits depend on the order of additions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A row: `text` is its JSON, `values` its columns in the form in which equal ones are equal.

    Floating numbers in it, in tuples too, are equal if nine digits are.
    """

    text: str
    values: Mapping[str, Hashable]

    def key(self, columns: Sequence[str]) -> tuple[Hashable, ...]:
        """Return the values of some columns."""
        return tuple(self.values[column] for column in columns)

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """The values of all columns."""
        return tuple(self.values.values())

    @property
    def exact_part(self) -> Hashable:
        """The values of all columns but floating numbers."""
        return _without_floats(self.identity)


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
        if len(wanted) != len(there) or not all(map(_are_equal, wanted, there)):
            found += [DiffLine(sign=_MISSING, text=row.text) for row in wanted]
            found += [DiffLine(sign=_UNEXPECTED, text=row.text) for row in there]
    return tuple(found)


def _compare_any_order(expected: Sequence[ComparedRow], written: Sequence[ComparedRow]) -> Iterator[DiffLine]:
    """Yield all rows that are expected, in their order, and those too many, if there is any difference."""
    missing, unexpected = _unpaired(expected, written)
    if not missing and not unexpected:
        return
    for number, row in enumerate(expected):
        yield DiffLine(sign=_MISSING if number in missing else _EQUAL, text=row.text)
    for row in sorted((written[number] for number in unexpected), key=lambda row: row.text):
        yield DiffLine(sign=_UNEXPECTED, text=row.text)


def _unpaired(expected: Sequence[ComparedRow], written: Sequence[ComparedRow]) -> tuple[set[int], set[int]]:
    """Return the numbers of the rows of either side that no equal one of the other is left for."""
    free: defaultdict[Hashable, list[int]] = defaultdict(list)
    same = Counter(row.identity for row in expected)
    for number, row in enumerate(written):
        same[row.identity] -= 1
        if same[row.identity] < 0:
            free[row.exact_part].append(number)
    same = Counter(row.identity for row in written)
    missing = set[int]()
    for number, row in enumerate(expected):
        same[row.identity] -= 1
        if same[row.identity] >= 0:
            continue
        partners = free[row.exact_part]
        partner = next((other for other in partners if _are_equal(row, written[other])), None)
        if partner is None:
            missing.add(number)
        else:
            partners.remove(partner)
    return missing, {number for numbers in free.values() for number in numbers}


def _are_equal(one: ComparedRow, other: ComparedRow) -> bool:
    return one.exact_part == other.exact_part and _are_near(one.identity, other.identity)


def _without_floats(value: Hashable) -> Hashable:
    if isinstance(value, tuple):
        return tuple(map(_without_floats, value))
    return float if isinstance(value, float) else value


def _are_near(one: Hashable, other: Hashable) -> bool:
    """Compare the floating numbers of values whose other parts are equal."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return all(map(_are_near, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_TOLERANCE)
    return True


def _by_key(rows: Sequence[ComparedRow], columns: Sequence[str]) -> dict[tuple[Hashable, ...], list[ComparedRow]]:
    found: defaultdict[tuple[Hashable, ...], list[ComparedRow]] = defaultdict(list)
    for row in rows:
        found[row.key(columns)].append(row)
    return dict(found)
