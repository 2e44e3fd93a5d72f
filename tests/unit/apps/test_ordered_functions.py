"""Functions in event-time order in whole apps: results are the same in whatever batches, tasks, commits and runs."""

from datetime import timedelta
from random import Random

import pytest

from support import apps
from support.ordered_visits import DAY, PROCESS, app, disordered, expected


@pytest.mark.usefixtures("forget_modules")
@pytest.mark.parametrize("shuffled", [False, True])
def test_one_sorted_file_of_two_visits_is_two_visits(tmp_path, shuffled):
    files = [[("ann", DAY + timedelta(hours=9, minutes=minutes)) for minutes in (0, 1, 360)]]
    apps.run(app(tmp_path, files, shuffled=shuffled), tmp_path)
    assert apps.row_counts(tmp_path / "out" / "ended") == expected(files)
    assert [row[2] for row in apps.rows(tmp_path / "out" / "ended")] == ["2", "1"]


@pytest.mark.usefixtures("forget_modules")
@pytest.mark.parametrize("interval", ["10ms", "50ms", "5m"])
@pytest.mark.parametrize("processors", [1, 2])
def test_visits_are_the_same_in_whatever_tasks_batches_and_commits(tmp_path, interval, processors):
    files = disordered(Random(f"{interval} {processors}"), 3, 400, minutes=60)
    document = app(
        tmp_path,
        files,
        shuffled=True,
        out_of_order="1h",
        processors=processors,
        commitInterval=interval,
        intermediateStreamPartitions=4,
    )
    apps.run(document, tmp_path)
    assert apps.row_counts(tmp_path / "out" / "ended") == expected(files)


@pytest.mark.usefixtures("forget_modules")
def test_in_the_order_of_arrival_a_batch_comes_before_its_timers(tmp_path):
    files = [[("ann", DAY + timedelta(hours=hour)) for hour in (9, 15)]]
    document = app(tmp_path, files, shuffled=False, process=PROCESS | {"order": "arrival"})
    apps.run(document, tmp_path)
    assert [row[2] for row in apps.rows(tmp_path / "out" / "ended")] == ["2"]
