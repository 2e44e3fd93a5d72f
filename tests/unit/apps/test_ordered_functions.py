"""Apps with functions in event-time order: visits end after half an hour of silence, in whatever batches and tasks."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from support import apps

FUNCTIONS = """
import pyarrow as pa

PAUSE = 30 * 60_000


class Visits:
    def process(self, clicks, state):
        for click in clicks.to_pylist():
            visit = state.get(click["visitor"]) or {"first": click["__event_time"], "pages": 0, "until": None}
            if visit["until"] is not None:
                state.delete_timer(click["visitor"], visit["until"])
            visit = visit | {"pages": visit["pages"] + 1, "until": click["__event_time"] + PAUSE}
            state.set_timer(click["visitor"], visit["until"])
            state.put(click["visitor"], visit)

    def on_timers(self, timers, state):
        visits = []
        for visitor in timers["visitor"].to_pylist():
            visit = state.get(visitor)
            visits.append({"visitor": visitor, "first": visit["first"], "pages": visit["pages"]})
            state.delete(visitor)
        return pa.Table.from_pylist(visits)
"""
PROCESS = {
    "function": "visit_functions:Visits",
    "schema": "visitor string, first bigint, pages int",
    "state": {"key": "visitor"},
}
CLICKS = {"schema": "visitor string, page string, at timestamp", "key": "visitor"}
DAY = datetime(2024, 5, 1, tzinfo=UTC)
PAUSE = timedelta(minutes=30)


def app(folder, files, *, shuffled, process=PROCESS, processors=1, **job):
    (folder / "visit_functions.py").write_text(FUNCTIONS)
    lines = [[f"{visitor},/,{at.isoformat()}" for visitor, at in file] for file in files]
    apps.write_stream(folder, "clicks", "visitor,page,at", *lines)
    operators = [
        *([{"name": "by-visitor", "from": "clicks", "partitionBy": {"key": "visitor"}}] if shuffled else []),
        {"name": "visits", "from": "by-visitor" if shuffled else "clicks", "process": process},
        {"name": "sent", "from": "visits", "sendTo": "ended"},
    ]
    return apps.document(operators, processors=processors, job=job, clicks=CLICKS, ended={})


def expected(files):
    """Divide the clicks of each visitor into visits."""
    visits, times = Counter(), {}
    for visitor, at in (click for file in files for click in file):
        times.setdefault(visitor, []).append(at)
    for visitor, clicks in times.items():
        first, last, pages = None, None, 0
        for at in [*sorted(clicks), datetime.max.replace(tzinfo=UTC)]:
            if last is not None and at - last > PAUSE:
                visits[visitor, str(round(first.timestamp() * 1_000)), str(pages)] += 1
                first, pages = None, 0
            first, last, pages = first or at, at, pages + 1
    return visits


@pytest.mark.usefixtures("forget_modules")
@pytest.mark.parametrize("shuffled", [False, True])
def test_one_sorted_file_of_two_visits_is_two_visits(tmp_path, shuffled):
    files = [[("ann", DAY + timedelta(hours=9, minutes=minutes)) for minutes in (0, 1, 360)]]
    apps.run(app(tmp_path, files, shuffled=shuffled), tmp_path)
    assert apps.row_counts(tmp_path / "out" / "ended") == expected(files)
    assert [row[2] for row in apps.rows(tmp_path / "out" / "ended")] == ["2", "1"]


def disordered(random, files, clicks, minutes):
    """Make files of clicks, each in order but for some minutes."""
    made = []
    for _ in range(files):
        times = sorted(random.randrange(7 * 24 * 60) for _ in range(clicks))
        file = [(f"v{random.randrange(12)}", DAY + timedelta(minutes=time)) for time in times]
        made.append(sorted(file, key=lambda click: click[1] + timedelta(minutes=random.uniform(0, minutes))))
    return made


@pytest.mark.usefixtures("forget_modules")
@pytest.mark.parametrize("interval", ["10ms", "50ms", "5m"])
@pytest.mark.parametrize("processors", [1, 2])
def test_visits_are_the_same_in_whatever_tasks_batches_and_commits(tmp_path, interval, processors):
    files = disordered(Random(f"{interval} {processors}"), 3, 400, minutes=60)
    document = app(
        tmp_path,
        files,
        shuffled=True,
        processors=processors,
        commitInterval=interval,
        intermediateStreamPartitions=4,
    )
    document["spec"]["streams"]["clicks"]["eventTime"]["maxOutOfOrderness"] = "1h"
    apps.run(document, tmp_path)
    assert apps.row_counts(tmp_path / "out" / "ended") == expected(files)


@pytest.mark.usefixtures("forget_modules")
def test_in_the_order_of_arrival_a_batch_comes_before_its_timers(tmp_path):
    files = [[("ann", DAY + timedelta(hours=hour)) for hour in (9, 15)]]
    document = app(tmp_path, files, shuffled=False, process=PROCESS | {"order": "arrival"})
    apps.run(document, tmp_path)
    assert [row[2] for row in apps.rows(tmp_path / "out" / "ended")] == ["2"]
