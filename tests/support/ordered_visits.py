"""An app with a function in event-time order: the visits of visitors, which end after half an hour of silence."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

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


def app(folder, files, *, shuffled, process=PROCESS, processors=1, out_of_order="0ms", **job):
    """Write the clicks of each file, and give the app."""
    (folder / "visit_functions.py").write_text(FUNCTIONS)
    lines = [[f"{visitor},/,{at.isoformat()}" for visitor, at in file] for file in files]
    apps.write_stream(folder, "clicks", "visitor,page,at", *lines)
    operators = [
        *([{"name": "by-visitor", "from": "clicks", "partitionBy": {"key": "visitor"}}] if shuffled else []),
        {"name": "visits", "from": "by-visitor" if shuffled else "clicks", "process": process},
        {"name": "sent", "from": "visits", "sendTo": "ended"},
    ]
    document = apps.document(operators, processors=processors, job=job, clicks=CLICKS, ended={})
    document["spec"]["streams"]["clicks"]["eventTime"]["maxOutOfOrderness"] = out_of_order
    return document


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


def disordered(random, files, clicks, minutes):
    """Make files of clicks, each in order but for some minutes."""
    made = []
    for _ in range(files):
        times = sorted(random.randrange(7 * 24 * 60) for _ in range(clicks))
        file = [(f"v{random.randrange(12)}", DAY + timedelta(minutes=time)) for time in times]
        made.append(sorted(file, key=lambda click: click[1] + timedelta(minutes=random.uniform(0, minutes))))
    return made


def lay_out(folder: Path, clicks: int) -> None:
    """Write an app whose clicks are out of order, with short commits; so many clicks in each of three files."""
    files = disordered(Random(5), 3, clicks, minutes=60)
    job = {"commitInterval": "10ms", "intermediateStreamPartitions": 4}
    (folder / "app.yaml").write_text(
        json.dumps(app(folder, files, shuffled=True, out_of_order="1h", processors=2, **job))
    )
    (folder / "visits.json").write_text(json.dumps([[*visit, count] for visit, count in expected(files).items()]))


def check(folder: Path) -> None:
    """Compare the visits, each exactly once, with those of plain Python."""
    visits = Counter({tuple(visit): count for *visit, count in json.loads((folder / "visits.json").read_text())})
    assert apps.row_counts(folder / "out" / "ended") == visits
