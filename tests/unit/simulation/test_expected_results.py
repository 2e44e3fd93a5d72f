"""What simulations check sees rows that are lost, doubled, out of order, and groups that are early, late or doubled."""

import itertools
from dataclasses import replace
from random import Random

import pytest

from simulation.expected_results import wrong_results
from simulation.numbered_app import (
    DELETED,
    JOIN_MS,
    KEYS,
    SESSION_GAP_MS,
    SLIDE_MS,
    SLIDING_MS,
    WINDOW_MS,
    AppShape,
)

SHAPE = replace(
    AppShape.of(Random(0)),
    windows=True,
    sessions=True,
    quiet=True,
    pairs=True,
    table=True,
    files=False,
    kubernetes=True,
    sliding=True,
    echoes=True,
    late=True,
)
ROWS = {key: [row for row in SHAPE.written if row.key == key] for key in KEYS}


def groups(belongs):
    """Count neighbouring rows of a key that belong together."""
    found = []
    for key, rows in ROWS.items():
        members = [rows[:1]]
        for before, row in itertools.pairwise(rows):
            if belongs(before, row):
                members[-1].append(row)
            else:
                members.append([row])
        found += [{"k": key, "c": len(some), "lo": some[0].number, "hi": some[-1].number} for some in members]
    return found


def sliding():
    """Count the rows of each key in each window that slides, whether that has rows or not, and leave the empty ones."""
    found = []
    for key, rows in ROWS.items():
        for start in range(-SLIDING_MS, rows[-1].at + 1, SLIDE_MS):
            inside = [row.number for row in rows if start <= row.at < start + SLIDING_MS]
            found += [{"k": key, "c": len(inside), "lo": inside[0], "hi": inside[-1]}] if inside else []
    return found


def matched():
    """Pair every fifth row with its echo; the others are alone, and so are the echoes of other keys."""
    pairs = []
    for key, rows in ROWS.items():
        for number in (row.number for row in rows):
            pairs.append({"k": key, "n": number, "m": None if number % 5 else number})
            pairs += [{"k": f"{key}-alone", "n": None, "m": number}] if number % 5 == 2 else []
    return pairs


def right():
    """Return all that must come out."""
    numbers = [{"k": row.key, "n": row.number} for row in SHAPE.written]
    sessions = groups(lambda before, row: row.at - before.at <= SESSION_GAP_MS)
    return {
        "passed": numbers,
        "copied": numbers[70:],
        "totals": [{**value, "c": (n := value["n"]) + 1, "s": n * (n + 1) // 2} for value in numbers],
        "windows": groups(lambda before, row: row.at // WINDOW_MS == before.at // WINDOW_MS),
        "sliding": sliding(),
        "matched": matched(),
        "sessions": sessions,
        "quiet": sessions,
        "pairs": [
            {"k": key, "n": left.number, "m": right.number}
            for key, rows in ROWS.items()
            for left in rows
            for right in rows
            if abs(left.at - right.at) <= JOIN_MS
        ],
        "named": [value | {"v": value["n"] // 3} for value in numbers],
    }


def wrong(results, folder, *, complete=True):
    return wrong_results(SHAPE, {name: [values] for name, values in results.items()}, folder, complete=complete)


def test_the_right_results_are_right(tmp_path):
    assert wrong(right(), tmp_path) is None


@pytest.mark.parametrize("output", sorted(right()))
def test_a_result_that_comes_twice_is_seen(tmp_path, output):
    results = right()
    results[output] = results[output] + results[output][-1:]
    seen = wrong(results, tmp_path, complete=False)
    assert seen is not None
    assert seen.startswith(f"{output}:")


@pytest.mark.parametrize("output", sorted(right()))
def test_a_result_that_is_missing_is_seen_once_all_must_be_there(tmp_path, output):
    results = right()
    results[output] = results[output][:-1]
    assert wrong(results, tmp_path, complete=False) is None
    seen = wrong(results, tmp_path)
    assert seen is not None
    assert seen.startswith(f"{output}:")


@pytest.mark.parametrize("output", ["passed", "totals", "copied", "named"])
def test_rows_of_a_key_out_of_order_are_seen(tmp_path, output):
    results = right()
    results[output] = results[output][::-1]
    assert wrong(results, tmp_path, complete=False) is not None


@pytest.mark.parametrize("output", ["windows", "sliding", "sessions", "quiet"])
def test_a_group_that_was_closed_early_is_seen(tmp_path, output):
    results = right()
    largest = max(range(len(results[output])), key=lambda index: results[output][index]["c"])
    results[output][largest] = {**results[output][largest], "c": results[output][largest]["c"] - 1}
    assert wrong(results, tmp_path, complete=False) is not None


@pytest.mark.parametrize("version", [None, 0])
def test_a_row_that_was_joined_with_nothing_or_an_older_version_is_seen(tmp_path, version):
    results = right()
    results["named"][-1] = {**results["named"][-1], "v": version}
    assert wrong(results, tmp_path, complete=False) is not None


@pytest.mark.parametrize(
    ("versions", "complete", "is_wrong"),
    [([None], True, False), ([], False, False), ([], True, True), ([None, None], False, True), ([0], False, True)],
)
def test_a_name_that_is_found_after_it_was_deleted_is_seen(tmp_path, versions, complete, is_wrong):
    results = right()
    results["named"] = [*results["named"], *({"k": DELETED, "n": 0, "v": version} for version in versions)]
    aging = replace(SHAPE, aging=True)
    found = wrong_results(aging, {name: [values] for name, values in results.items()}, tmp_path, complete=complete)
    assert (found is not None) == is_wrong


def test_a_row_that_came_alone_though_it_has_a_partner_is_seen(tmp_path):
    results = right()
    results["matched"][0] = {**results["matched"][0], "m": None}
    assert wrong(results, tmp_path, complete=False) is not None


LATE_WINDOW = {"k": "late", "window_start": "1969-12-31T23:59:58Z", "c": 1, "lo": 1, "hi": 1}


@pytest.mark.parametrize(
    ("windows", "is_wrong"),
    [
        ([], False),
        ([LATE_WINDOW], False),
        ([LATE_WINDOW, LATE_WINDOW], True),
        ([{**LATE_WINDOW, "c": 2}], True),
        ([{**LATE_WINDOW, "lo": 0}], True),
        ([{**LATE_WINDOW, "window_start": "1969-12-31T23:59:57Z"}], True),
    ],
)
def test_a_window_of_late_rows_may_be_missing_but_comes_once_with_rows_of_its_own(tmp_path, windows, is_wrong):
    results = right()
    results["windows"] = [*results["windows"], *windows]
    assert (wrong(results, tmp_path) is not None) == is_wrong
