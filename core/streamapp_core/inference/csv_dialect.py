"""The dialect of CSV that a text is written in."""

import csv
from collections import Counter
from itertools import islice

from streamapp_core.data_types import STRING
from streamapp_core.inference.value_types import type_of_texts
from streamapp_core.spec.streams import CsvOptions

_DELIMITERS = (",", ";", "\t", "|")
_RECORDS = 50


def guess_dialect(text: str) -> CsvOptions:
    """Return the delimiter that divides most records of a text alike, and whether the first one names the columns."""
    read = {delimiter: _records(text, delimiter) for delimiter in _DELIMITERS}
    delimiter = max(_DELIMITERS, key=lambda each: _alike(read[each]))
    first = read[delimiter][0] if read[delimiter] else []
    return CsvOptions(delimiter=delimiter, header=_are_names(first))


def _records(text: str, delimiter: str) -> list[list[str]]:
    try:
        return list(islice(filter(None, csv.reader(text.splitlines(keepends=True), delimiter=delimiter)), _RECORDS))
    except csv.Error:
        return []


def _alike(records: list[list[str]]) -> tuple[float, int]:
    """Return the share of the records that have the most frequent number of values, and this number, if it is not 1."""
    if not records:
        return 0.0, 0
    width, count = Counter(map(len, records)).most_common(1)[0]
    return (count / len(records), width) if width > 1 else (0.0, 1)


def _are_names(values: list[str]) -> bool:
    """Return whether these are names: different printable texts, none of them a number, a time or a truth value."""
    names = [value.strip() for value in values]
    different = all(names) and len(set(names)) == len(names)
    return different and all(name.isprintable() and type_of_texts([name]) == STRING for name in names)
