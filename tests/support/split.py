"""One app, and the same as two: the first regroups the rows of a growing stream, the second counts them by the hour."""

import json
import signal
from collections import Counter
from contextlib import closing
from copy import deepcopy
from pathlib import Path

import pytest

from streamapp_core.plan import plan
from streamapp_core.spec.parse import parse_document
from streamapp_runtime.errors import Drained
from streamapp_runtime.fail_points import VARIABLE
from support import apps, crashes
from support.growth import HUB, Growing, Stop

HOUR = 3_600_000
KEYS = range(16)
GROUPS = 5


class Split:
    """The input in a system, and a folder for each app; all streams have `name` in their names."""

    def __init__(self, folder: Path, system: dict, name: str = "app", partitions: int = 2):
        self._folder = folder
        self._system = system
        self._name = name
        self.source = Growing(folder, system, name, partitions, hashed=False)
        self.shared = f"{name}.by-group"
        self.hours = 0

    def write(self, hours: int, count: int) -> None:
        """Write two rows of each key in each of the next hours, to so many partitions of the input."""
        with closing(self.source.producer("source", count)) as producer:
            for hour in range(self.hours + 1, self.hours + hours + 1):
                producer.send(*KEYS, at=hour * HOUR)
                producer.send(*KEYS, at=hour * HOUR + HOUR // 2)
            producer.commit()
        self.hours += hours

    def first(self, *, bounded: bool = False) -> dict:
        """Give the app that writes the stream between the two."""
        return self._document("first", {"in": self._input(bounded)}, [_grouped(), _by_group(stream=self.shared)])

    def second(self, **between) -> dict:
        """Give the app that reads it; what is given of the stream replaces what it should be."""
        stream = {"system": HUB, "name": self.shared, "schema": "g int, n int", "key": "g", "controlMessages": True}
        return self._document("second", {"between": stream | between}, _counted("between"))

    def unsplit(self, *, bounded: bool = False) -> dict:
        """Give the app that does both."""
        operators = [_grouped(), _by_group(), *_counted("by-group")]
        return self._document("unsplit", {"in": self._input(bounded)}, operators)

    def run(self, document: dict, **options):
        """Run an app to its end, going on where it was."""
        return apps.run(document, self._home(document), **{"fresh": False, **options})

    def die(self, document: dict, place: str) -> None:
        """Run an app in a process of its own until it dies at a fail-point."""
        folder = self._home(document)
        (folder / "app.yaml").write_text(json.dumps(document))
        options = ("--host", "in-process", "--state-dir", str(folder / ".streamapp" / "app"))
        died, output = crashes.end(crashes.start(folder, *options, **{VARIABLE: place}))
        assert died == -signal.SIGKILL, output

    def kill(self, document: dict, until, *, listener=lambda summary: None) -> None:
        """Run an app until a condition holds and end it there: what it has not committed is lost."""

        def listen(summary):
            listener(summary)
            if until(summary):
                raise Stop

        with pytest.raises(Stop):
            self.run(document, listener=listen)

    def drain(self, document: dict, until, *, listener=lambda summary: None) -> None:
        """Run an app until a condition holds, and let it commit."""
        reached = []

        def listen(summary):
            listener(summary)
            reached.extend([summary] if until(summary) else [])

        with pytest.raises(Drained):
            self.run(document, listener=listen, drain=lambda: bool(reached))

    def all_read(self, summary) -> bool:
        """Tell whether all rows of the input have been read."""
        return sum(s.read for s in summary.streams if s.name == "in") >= sum(self.source.written.values())

    def windows(self, which: str) -> Counter:
        """Read what an app has emitted."""
        return Counter((row["g"], row["window_start"], row["c"], row["s"]) for row in self.source.rows(which))

    def expected(self, hours: int) -> Counter:
        """Return what is emitted of the first hours."""
        keys = Counter(key % GROUPS for key in KEYS)
        return Counter(
            (group, f"1970-01-01T{hour:02}:00:00Z", 2 * count, count * (4 * hour - 3))
            for hour in range(1, hours + 1)
            for group, count in keys.items()
        )

    def all_counted(self, which: str) -> bool:
        """Return whether an app has emitted a window of each group for all hours but the last one."""
        return self.windows(which).total() >= GROUPS * (self.hours - 1)

    def _home(self, document: dict) -> Path:
        folder = self._folder / document["metadata"]["name"]
        folder.mkdir(exist_ok=True)
        return folder

    def _input(self, bounded: bool) -> dict:
        return {"system": HUB, "name": f"{self._name}.in", "schema": "k int, n int", "key": "k", "bounded": bounded}

    def _document(self, which: str, streams: dict, operators: list) -> dict:
        if which != "first":
            streams = streams | {"out": {"system": HUB, "name": f"{self._name}.{which}", "partitions": 2, "key": "g"}}
        spec = {
            "systems": {HUB: self._system},
            "streams": streams,
            "operators": operators,
            "job": {
                "commitInterval": "50ms",
                "watermarkInterval": "1ms",
                "intermediateStreamPartitions": 3,
                "partitionMonitor": {"interval": "1s"},
            },
            "processors": {"count": 2},
        }
        metadata = {"name": f"{self._name}-{which}"}
        return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": metadata, "spec": spec}


def halves(document: dict, counts: dict[str, int], at: str) -> tuple[dict, dict]:
    """Cut an app in two at a `partitionBy`: what leads to it, and the rest, which reads its stream by the same name."""
    planned = plan(parse_document(document), counts).plan
    assert planned is not None
    first = {at}
    for operator in reversed(planned.operators.values()):
        if operator.name in first:
            first.update(operator.inputs)
    stream = {"system": document["spec"]["defaultSystem"], "name": "between", "controlMessages": True, "bounded": True}
    stream |= {"schema": str(planned.streams[at].schema), "key": planned.streams[at].key}
    writer, reader = _with(document, first, inside=True), _with(document, first, inside=False)
    (regrouping,) = (operator for operator in writer["spec"]["operators"] if operator["name"] == at)
    regrouping["partitionBy"]["stream"] = "between"
    reader["spec"]["streams"][at] = stream
    return writer, reader


def _with(document: dict, names: set[str], *, inside: bool) -> dict:
    """Leave out the operators that are not among some, or those that are, and the streams and tables of the others."""
    half = deepcopy(document)
    spec = half["spec"]
    spec["operators"] = [operator for operator in spec["operators"] if (operator["name"] in names) is inside]
    spec["tables"] = spec["tables"] if any("joinTable" in operator for operator in spec["operators"]) else {}
    used = {operator.get("sendTo") for operator in spec["operators"]}
    used |= {name for table in spec["tables"].values() for name in table["sideInputs"]}
    used |= names if inside else set()
    spec["streams"] = {name: stream for name, stream in spec["streams"].items() if name in used}
    return half


def _grouped() -> dict:
    return {"name": "grouped", "from": "in", "map": f"k % {GROUPS} as g, n"}


def _by_group(**names: str) -> dict:
    return {"name": "by-group", "from": "grouped", "partitionBy": {"key": "g", **names}}


def _counted(source: str) -> list:
    return [
        {
            "name": "hourly",
            "from": source,
            "window": {"tumbling": "1h", "by": ["g"], "select": "count(*) as c, sum(n) as s"},
        },
        {"name": "sent", "from": "hourly", "sendTo": "out"},
    ]
