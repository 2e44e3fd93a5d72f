"""Samples of an app that counts and copies rows, as `streamapp dev --sample` makes them at each save."""

import json
import queue
import time
from contextlib import closing

from watchfiles import Change

from streamapp_cli.dev_command import DevSession, develop
from streamapp_cli.dev_sample import Sample, SamplePrinter
from streamapp_cli.peek_command import record_document
from streamapp_runtime.stream_sample import sample_stream
from streamapp_systems.registry import local_systems
from support import apps
from support.growth import Growing
from support.replays import KEYS, write_hours

LENGTH = 90 * 60_000


def read_rows(folder):
    """Return what reads the rows of a stream of a sample in a folder."""
    return lambda plan, stream: [
        record_document(record) for record in sample_stream(plan, stream, local_systems(folder), rows=100)
    ]


class Printer(SamplePrinter):
    """Tells the test that a sample has come to an end, after what it prints."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.ended = queue.Queue()

    def complete(self, summary):
        super().complete(summary)
        self.ended.put(True)

    def fail(self, message):
        super().fail(message)
        self.ended.put(message)

    def refuse(self, problems):
        super().refuse(problems)
        self.ended.put(problems)


def sample(folder, documents, *, length=LENGTH):
    """Sample the app of a folder as it is at each of some saves; what is printed is left to the test."""
    file = folder / "app.yaml"
    now = time.time_ns() // 1_000_000
    sampled = Sample(folder, length, now)
    printer = Printer("app", sampled, read_rows(folder))
    session = DevSession(file, apps.in_process, printer, fresh=False, sample=sampled, show_plan=printer.show_plan)

    def saves(_):
        for number, document in enumerate(documents):
            file.write_text(json.dumps(document))
            yield {(Change.modified, str(file))} if number else ()
            assert printer.ended.get(timeout=apps.DEADLINE) is True

    develop(session, saves)


def blocks(printed):
    """Give the rows that were printed of each operator and output of the last sample."""
    found, name = {}, ""
    for line in printed.splitlines():
        if line.startswith("  {"):
            found[name].append(json.loads(line))
        elif line.endswith((" row", " rows")):
            name = line.split(" ")[0]
            found[name] = []
    return found


def play(source: Growing, printed) -> None:
    """Sample the last hour of an app that has never run: its rows are printed, and nothing of its own is written."""
    write_hours(source)
    sample(source.folder, [source.document()])
    text = printed()
    assert f"out (output): {len(KEYS)} rows" in text
    assert f"counted (aggregate): {len(KEYS)} rows" in text
    found = blocks(text)
    assert {row["n"] for row in found["out"]} == {2}
    assert {row["c"] for row in found["counted"]} == {1}
    with closing(source.admin()) as admin:
        assert not set(admin.end_offsets([source.stream("out"), source.stream("counts")]))
