"""What must come out of a simulated app: each number of each key once, in order, and what follows from them."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from simulation.numbered_app import (
    DELETED,
    JOIN_MS,
    KEYS,
    LATE,
    SESSION_GAP_MS,
    SLIDE_MS,
    SLIDING_MS,
    WINDOW_MS,
    AppShape,
    Row,
)

_NOBODY = -1
_SHAPES = 16
"""Apps whose results are worked out once: they are looked at again and again."""
_Result = TypeVar("_Result", bound=tuple)


def wrong_results(
    shape: AppShape, found: Mapping[str, Sequence[Sequence[dict]]], folder: Path, *, complete: bool
) -> str | None:
    """Return what is wrong with the results so far, `found` in each output's partitions, in order.

    `complete`: they must be all there, too.
    """
    rows = shape.written
    problems = [
        _wrong_order("passed", rows, found["passed"], complete=complete),
        _wrong_copies(rows, found["copied"], complete=complete),
        _wrong_totals(rows, found["totals"], complete=complete),
    ]
    if shape.windows:
        problems.append(_wrong_windows("windows", shape, found["windows"], (WINDOW_MS, WINDOW_MS), complete=complete))
    if shape.sliding:
        problems.append(_wrong_windows("sliding", shape, found["sliding"], (SLIDING_MS, SLIDE_MS), complete=complete))
    if shape.sessions:
        problems.append(_wrong_sessions("sessions", shape, found["sessions"], complete=complete))
    if shape.quiet:
        problems.append(_wrong_sessions("quiet", shape, found["quiet"], complete=complete))
    if shape.pairs:
        problems.append(_wrong_pairs(shape, found["pairs"], complete=complete))
    if shape.echoes:
        problems.append(_wrong_matches(shape, found["matched"], complete=complete))
    if shape.table:
        problems.append(_wrong_order("named", rows, found["named"], complete=complete))
        problems.append(_wrong_names(found["named"]))
        problems.append(_wrong_deletion(shape, found["named"], complete=complete))
    if shape.files:
        problems.append(_wrong_files(rows, folder, complete=complete))
    return next((problem for problem in problems if problem is not None), None)


def _numbers(partitions: Sequence[Sequence[dict]], column: str = "n") -> Mapping[str, list[int | None]]:
    """Return the numbers of each key in their order."""
    seen: dict[str, list[int | None]] = defaultdict(list)
    for values in partitions:
        for value in values:
            seen[value["k"]].append(value[column])
    return seen


def _wrong_order(
    output: str, rows: Sequence[Row], partitions: Sequence[Sequence[dict]], *, complete: bool
) -> str | None:
    seen = _numbers(partitions)
    expected = Counter(row.key for row in rows)
    for key, count in sorted(expected.items()):
        if seen[key] != list(range(len(seen[key]))):
            return f"{output}: the numbers of {key} are not 0, 1, 2, ...: {seen[key]}"
        if len(seen[key]) > count or (complete and len(seen[key]) < count):
            return f"{output}: {len(seen[key])} numbers of {key}, not {count}"
    return None


def _wrong_copies(rows: Sequence[Row], partitions: Sequence[Sequence[dict]], *, complete: bool) -> str | None:
    """Look at an output that an edit has added at any time: it has all numbers of a key from one on."""
    expected = Counter(row.key for row in rows)
    for key, numbers in sorted(_numbers(partitions).items()):
        if key in KEYS and numbers != list(range(expected[key]))[numbers[0] :][: len(numbers)]:
            return f"copied: the numbers of {key} are not consecutive: {numbers}"
        if key in KEYS and complete and numbers[-1] != expected[key] - 1:
            return f"copied: the last numbers of {key} are missing: {numbers}"
    return None


def _wrong_names(partitions: Sequence[Sequence[dict]]) -> str | None:
    """Look at what the table gave: it was filled before the app began, and its versions rise."""
    for key, versions in sorted(_numbers(partitions, "v").items()):
        if key in KEYS and (None in versions or versions != sorted(versions)):
            return f"named: the versions of {key} do not rise: {versions}"
    return None


def _wrong_deletion(shape: AppShape, partitions: Sequence[Sequence[dict]], *, complete: bool) -> str | None:
    """Look at what was found long after it was deleted: nothing, if the app has such a name."""
    versions, expected = _numbers(partitions, "v")[DELETED], [None] if shape.aging else []
    if versions == expected or (not complete and not versions):
        return None
    return f"named: the versions of a name that was deleted are {versions}"


def _wrong_totals(rows: Sequence[Row], partitions: Sequence[Sequence[dict]], *, complete: bool) -> str | None:
    expected = Counter(row.key for row in rows)
    last: dict[str, int] = {}
    for values in partitions:
        for value in values:
            key, count = value["k"], value["c"]
            if key not in KEYS:
                continue
            if value["n"] != count - 1 or value["s"] != count * (count - 1) // 2:
                return f"totals: a count that is none of {key}: {value}"
            if count <= last.get(key, 0):
                return f"totals: {key} has {count} after {last[key]}"
            last[key] = count
    if complete and last != dict(expected):
        return f"totals: the last ones are {last}, not {dict(expected)}"
    return None


def _wrong_windows(
    output: str,
    shape: AppShape,
    partitions: Sequence[Sequence[dict]],
    length_and_step: tuple[int, int],
    *,
    complete: bool,
) -> str | None:
    wrong = _wrong_groups(output, _expected_windows(shape, *length_and_step), partitions, complete=complete)
    return wrong or _wrong_late_windows(output, _late_windows(shape, *length_and_step), partitions)


@lru_cache(maxsize=_SHAPES)
def _expected_windows(shape: AppShape, length: int, step: int) -> Counter[tuple]:
    return _expected_groups(_windows(shape.written, length, step).items())


@lru_cache(maxsize=_SHAPES)
def _late_windows(shape: AppShape, length: int, step: int) -> Mapping[tuple[str, int], list[int]]:
    return _windows(shape.late_rows, length, step)


def _windows(rows: Iterable[Row], length: int, step: int) -> Mapping[tuple[str, int], list[int]]:
    """Return the numbers of the rows in each window of a key, by its start."""
    members: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in rows:
        first = (row.at - length) // step * step + step
        for start in range(first, row.at + 1, step):
            members[row.key, start].append(row.number)
    return members


def _wrong_late_windows(
    output: str, groups: Mapping[tuple[str, int], Sequence[int]], partitions: Sequence[Sequence[dict]]
) -> str | None:
    """Look at windows that rows may have found closed: each comes once at most, and has rows that belong there."""
    seen: set[str] = set()
    for value in (value for values in partitions for value in values if value["k"] == LATE):
        start = value["window_start"]
        numbers = groups.get((LATE, _milliseconds(start)), ())
        lowest, highest = value["lo"], value["hi"]
        most = sum(lowest <= number <= highest for number in numbers)
        if start in seen or not {lowest, highest} <= set(numbers) or value["c"] > most:
            return f"{output}: a window of late rows is wrong, or comes twice: {value}, of {numbers}"
        seen.add(start)
    return None


def _milliseconds(timestamp: str) -> int:
    return round(datetime.fromisoformat(timestamp).timestamp() * 1_000)


def _wrong_matches(shape: AppShape, partitions: Sequence[Sequence[dict]], *, complete: bool) -> str | None:
    """Look at the join of the two inputs: rows and echoes of one key meet, the others come alone."""
    expected = _expected_matches(shape)
    known = {key for key, _, _ in expected}
    found = Counter(
        (v["k"], _NOBODY if v["n"] is None else v["n"], _NOBODY if v["m"] is None else v["m"])
        for values in partitions
        for v in values
        if v["k"] in known
    )
    return _difference("matched", "wrong, early or twice", expected, found, complete=complete)


@lru_cache(maxsize=_SHAPES)
def _expected_matches(shape: AppShape) -> Counter[tuple]:
    expected: Counter[tuple] = Counter()
    for row in shape.written:
        echoes = shape.echo_of(row)
        met = any(echo.key == row.key for echo in echoes)
        expected[row.key, row.number, row.number if met else _NOBODY] += 1
        expected.update((echo.key, _NOBODY, echo.number) for echo in echoes if echo.key != row.key)
    return expected


def _wrong_sessions(
    output: str, shape: AppShape, partitions: Sequence[Sequence[dict]], *, complete: bool
) -> str | None:
    return _wrong_groups(output, _expected_sessions(shape), partitions, complete=complete)


@lru_cache(maxsize=_SHAPES)
def _expected_sessions(shape: AppShape) -> Counter[tuple]:
    sessions: list[tuple[tuple[str, int], list[int]]] = []
    for key in KEYS:
        last = None
        for row in (row for row in shape.written if row.key == key):
            if last is None or row.at - last > SESSION_GAP_MS:
                sessions.append(((key, row.at), []))
            sessions[-1][1].append(row.number)
            last = row.at
    return _expected_groups(sessions)


def _expected_groups(groups: Iterable[tuple[tuple[str, int], Sequence[int]]]) -> Counter[tuple]:
    return Counter((key, len(numbers), min(numbers), max(numbers)) for (key, _), numbers in groups)


def _wrong_groups(
    output: str, expected: Counter[tuple], partitions: Sequence[Sequence[dict]], *, complete: bool
) -> str | None:
    found = Counter((v["k"], v["c"], v["lo"], v["hi"]) for values in partitions for v in values if v["k"] in KEYS)
    return _difference(output, "early, late or twice", expected, found, complete=complete)


@lru_cache(maxsize=_SHAPES)
def _expected_pairs(shape: AppShape) -> Counter[tuple]:
    by_key = {key: [row for row in shape.written if row.key == key] for key in KEYS}
    return Counter(
        (key, left.number, right.number)
        for key, own in by_key.items()
        for left in own
        for right in own
        if abs(left.at - right.at) <= JOIN_MS
    )


def _wrong_pairs(shape: AppShape, partitions: Sequence[Sequence[dict]], *, complete: bool) -> str | None:
    found = Counter((v["k"], v["n"], v["m"]) for values in partitions for v in values if v["k"] in KEYS)
    return _difference("pairs", "wrong or twice", _expected_pairs(shape), found, complete=complete)


def _difference(
    output: str, wrong: str, expected: Counter[_Result], found: Counter[_Result], *, complete: bool
) -> str | None:
    if extra := found - expected:
        return f"{output}: {wrong}: {sorted(extra.items())[:5]}"
    if complete and (missing := expected - found):
        return f"{output}: missing: {sorted(missing.items())[:5]}"
    return None


def _wrong_files(rows: Sequence[Row], folder: Path, *, complete: bool) -> str | None:
    found: Counter[tuple[str, int]] = Counter()
    for part in sorted((folder / "out" / "filed").glob("part-*")):
        found.update(_filed(part.read_text()))
    expected = Counter((row.key, row.number) for row in rows)
    found = Counter({key: count for key, count in found.items() if key[0] in KEYS})
    return _difference("files", "twice, or never written", expected, found, complete=complete)


@lru_cache(maxsize=1_000)
def _filed(text: str) -> Sequence[tuple[str, int]]:
    return [(value["k"], value["n"]) for value in map(json.loads, text.splitlines())]
