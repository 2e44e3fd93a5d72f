"""What simulations check sees rows that are lost, doubled, out of order, and groups that are early, late or doubled."""

import itertools
import json
from dataclasses import replace
from random import Random

import pytest

from simulation.expected_results import wrong_results
from simulation.numbered_app import JOIN_MS, KEYS, SESSION_GAP_MS, WINDOW_MS, AppShape

SHAPE = replace(
    AppShape.of(Random(0)),
    windows=True,
    sessions=True,
    quiet=True,
    pairs=True,
    table=True,
    files=False,
    kubernetes=True,
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


def right():
    """Return all that must come out."""
    numbers = [{"k": row.key, "n": row.number} for row in SHAPE.written]
    sessions = groups(lambda before, row: row.at - before.at <= SESSION_GAP_MS)
    return {
        "passed": numbers,
        "copied": numbers[70:],
        "totals": [{**value, "c": (n := value["n"]) + 1, "s": n * (n + 1) // 2} for value in numbers],
        "windows": groups(lambda before, row: row.at // WINDOW_MS == before.at // WINDOW_MS),
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
    outputs = {name: [[json.dumps(value).encode() for value in values]] for name, values in results.items()}
    return wrong_results(SHAPE, outputs, folder, complete=complete)


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


@pytest.mark.parametrize("output", ["windows", "sessions", "quiet"])
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
