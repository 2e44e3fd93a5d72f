"""Whole apps in tests: written to a folder, run there, and their results read back."""

import csv
import json
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from streamapp_runtime.driver.run_app import MakeHost, run_app
from streamapp_runtime.driver.start_run import RunRequest
from streamapp_runtime.hosts.in_process_host import InProcessHost

DEADLINE = 240
"""Seconds until a test that waits for something fails."""


def in_process(channel, app, log_folder):
    """Make the host that needs no JVM."""
    return InProcessHost(channel)


def run(
    text,
    folder: Path,
    make_host: MakeHost = in_process,
    *,
    fresh=True,
    run_id="r1",
    delete_outputs=False,
    listener=lambda summary: None,
    **options,
):
    """Run an app given as YAML text or as a document; paths in it resolve from the folder."""
    if not isinstance(text, str):
        text = json.dumps(text)
    state = folder / ".streamapp" / "app"
    request = RunRequest(
        text=text, folder=folder, state=state, fresh=fresh, run_id=run_id, delete_outputs=delete_outputs
    )
    return run_app(request, make_host, listener, **options)


class Stop(KeyboardInterrupt):
    """Ends an endless run from its listener."""


def run_until(folder: Path, app: dict, reached, *, told=lambda summary: None, **options):
    """Run an endless app until a condition holds, going on where the last run left off; `told` gets its summaries."""
    deadline = time.monotonic() + DEADLINE

    def listener(summary):
        told(summary)
        if reached():
            raise Stop
        assert time.monotonic() < deadline, summary

    with pytest.raises(Stop):
        run(app, folder, fresh=False, listener=listener, **options)


def parts(folder: Path) -> list[Path]:
    """List the parts of an output, those of one writer in the order they were written."""
    return sorted(folder.glob("part-*"), key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])


def rows(folder: Path) -> list[tuple[str, ...]]:
    """Read all rows of a CSV output."""
    found = []
    for part in parts(folder):
        with part.open(newline="") as file:
            found += [tuple(row) for row in csv.reader(file)][1:]
    return found


def row_counts(folder: Path) -> Counter:
    """Read all rows of a CSV output, whatever their order."""
    return Counter(rows(folder))


def last_per_key(folder: Path, columns: int) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Read the last row of each key, the key being the first columns."""
    return {row[:columns]: row for row in rows(folder)}


def document(operators, *, tables=None, processors=1, job=None, **streams) -> dict:
    """Give an app from CSV files to files: streams with a schema are inputs, those without are outputs below `out/`.

    A column `at` is the event time.
    """
    declared = {}
    for name, stream in streams.items():
        form = {"system": "files", "format": "csv", "name": f"out/{name}"} | stream
        if "schema" in stream:
            form |= {"name": name} | stream
            if form["format"] == "csv":
                form.setdefault("csv", {"nullValue": "NULL"})
            form |= {"eventTime": {"column": "at"}} if "at timestamp" in stream["schema"] else {}
        declared[name] = form
    spec = {
        "systems": {"files": {"file": {"path": "."}}, "log": {"log": {"path": "log.db"}}},
        "defaultSystem": "log",
        "streams": declared,
        "tables": tables or {},
        "operators": operators,
        "job": {"commitInterval": "50ms", "watermarkInterval": "1ms"} | (job or {}),
        "processors": {"count": processors},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


def counting_document() -> dict:
    """Give an app that counts the rows of each key behind a shuffle."""
    return document(
        [
            {"name": "by-k", "from": "numbers", "partitionBy": {"key": "k"}},
            {"name": "counted", "from": "by-k", "aggregate": {"by": ["k"], "select": "count(*) as n"}},
            {"name": "sent", "from": "counted", "sendTo": "counts"},
        ],
        numbers={"schema": "k int"},
        counts={},
        job={"intermediateStreamPartitions": 2},
    )


def write_stream(folder: Path, name: str, header: str, *files: list[str]) -> None:
    """Write an input stream: a CSV file of lines for each partition."""
    (folder / name).mkdir()
    for number, lines in enumerate(files):
        (folder / name / f"{number}.csv").write_text("".join(f"{line}\n" for line in [header, *lines]))


def stateless(system: str) -> dict:
    """Give a small app: of the flights those that are late, from one stream of a system to another."""
    kinds = {"kafka": {"kafka": {"bootstrapServers": "127.0.0.1:1"}}, "file": {"file": {"path": "."}}}
    form = {"system": "files", "format": "csv" if system == "file" else "json"}
    spec = {
        "systems": {"files": kinds[system], "log": {"log": {"path": "log.db"}}},
        "defaultSystem": "files" if system == "kafka" else "log",
        "streams": {"flights": {**form, "schema": "carrier string, delay double"}, "out": form},
        "operators": [
            {"name": "late", "from": "flights", "filter": "delay > 15"},
            {"name": "sent", "from": "late", "sendTo": "out"},
        ],
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


def with_function(folder: Path, code: str) -> dict:
    """Give a small app that calls the function `f` of a module with this code, on one batch of two flights."""
    (folder / "flights").mkdir()
    (folder / "flights" / "1.csv").write_text("carrier,delay\nAA,20\nUA,3\n")
    (folder / "mine.py").write_text(code)
    app = stateless("file")
    process = {"function": "mine:f", "schema": "carrier string, delay double"}
    app["spec"]["operators"][0] = {"name": "late", "from": "flights", "process": process}
    return app
