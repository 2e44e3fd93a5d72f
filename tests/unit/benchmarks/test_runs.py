"""Measured runs are kept, so that an interrupted benchmark goes on; their medians."""

import sys

import pytest
from benchmarks.measured import Measured
from benchmarks.runs import PART, Runs

LIMIT = 60.0


def printing(seconds):
    return [sys.executable, "-S", "-c", f'print(\'{{"seconds": {seconds}, "steady": null}}\')']


def refuse():
    raise AssertionError("a run that is known was made again")


def measured(runs, rows, number, seconds):
    return runs.measure(("count", "ours", rows, number), printing(seconds), LIMIT, lambda: None, lambda: (rows,))


def test_a_run_that_is_known_is_not_made_again_by_a_later_call(tmp_path):
    first = measured(Runs("b", folder=tmp_path), 100, 0, 1.5)
    again = Runs("b", folder=tmp_path)
    assert (first.seconds, first.found) == (1.5, (100,))
    assert again.measure(first.key, [], LIMIT, refuse, refuse) == first
    assert again.of("count", 100) == [first]


def test_a_fresh_call_puts_aside_what_is_known(tmp_path):
    measured(Runs("b", folder=tmp_path), 100, 0, 1.5)
    assert Runs("b", fresh=True, folder=tmp_path).of("count", 100) == []
    (aside,) = tmp_path.glob("b.*.jsonl")
    assert aside.read_text().count("\n") == 1


def test_steady_is_what_all_rows_take_beyond_a_part_of_them_in_each_round(tmp_path):
    runs = Runs("b", folder=tmp_path)
    assert runs.figures("count", "ours", 400) is None
    for number, (part, whole) in enumerate([(1, 4), (2, 3), (1, 3)]):
        measured(runs, 400 // PART, number, part)
        measured(runs, 400, number, whole)
    measured(runs, 400, 9, 100)
    found = runs.figures("count", "ours", 400)
    assert found.rounds == 4
    assert found.steady == pytest.approx(300 / 2)


def test_a_run_that_takes_too_long_is_late(tmp_path):
    runs = Runs("b", folder=tmp_path)
    endless = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    run = runs.measure(("count", "ours", 100, 0), endless, 0.0, lambda: None, refuse)
    assert (run.cpu, run.found) == (None, ())
    assert runs.late("count", "ours", 100)
    assert runs.figures("count", "ours", 100) is None
    assert not runs.late("count", "ours", 400)


def test_measured_seconds_are_found_among_other_lines():
    assert Measured.parse('starting\n{"seconds": 2.0, "steady": 5.0}\nbye\n').steady == 5.0
