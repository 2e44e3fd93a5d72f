"""An app that is developed: what is saved is planned, and its run goes on, or a new one begins."""

import json
import queue
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from watchfiles import Change

from streamapp_cli.app_edits import AppFilter, StartedRun, begins_new_run
from streamapp_cli.dev_command import DevSession, develop, watch_files
from streamapp_core.spec.parse import parse_document
from streamapp_runtime.errors import RuntimeFailure
from support import apps


def parsed(document):
    return parse_document(document).app


def started(document, *, completed=False):
    return StartedRun(app=parsed(document), completed=completed)


def edited(**parts):
    document = apps.stateless("file")
    document["spec"].update(parts)
    return document


OPERATORS = [
    {"name": "late", "from": "flights", "filter": "delay > 2"},
    {"name": "sent", "from": "late", "sendTo": "out"},
]


@pytest.mark.parametrize("fresh", [False, True])
def test_code_and_settings_go_on_with_state(fresh):
    before = started(apps.stateless("file"))
    assert not begins_new_run(before, parsed(apps.stateless("file")), fresh=fresh)
    assert not begins_new_run(before, parsed(edited(job={"onError": "skip"})), fresh=fresh)


@pytest.mark.parametrize(
    "before, after, told",
    [
        (started(edited()), edited(operators=OPERATORS), r"operators\[late\].* goes on without this edit"),
        (started(edited(), completed=True), edited(), "the code was edited.*the run has completed"),
        (started(edited(), completed=True), edited(job={"onError": "skip"}), "the run has completed"),
    ],
)
def test_what_a_run_can_not_take_begins_a_new_one_if_it_may(before, after, told):
    assert begins_new_run(before, parsed(after), fresh=True)
    with pytest.raises(RuntimeFailure, match=told):
        begins_new_run(before, parsed(after), fresh=False)


def test_another_app_needs_another_start():
    other = apps.stateless("file") | {"metadata": {"name": "other"}}
    with pytest.raises(RuntimeFailure, match="this is another app now"):
        begins_new_run(started(apps.stateless("file")), parsed(other), fresh=True)


def test_saves_of_data_and_of_folders_of_tools_are_none(tmp_path):
    watched = AppFilter(tmp_path / "app.yaml")
    watched.schema_files = frozenset({tmp_path / "order.avsc"})
    seen = ["app.yaml", "mine.py", "lib/more.py", "order.avsc"]
    unseen = ["flights/1.csv", "other.yaml", "other.avsc", ".streamapp/app/x.py", ".venv/lib/y.py"]
    assert [name for name in [*seen, *unseen] if watched(Change.modified, str(tmp_path / name))] == seen
    assert not watched(Change.deleted, str(tmp_path / "app.yaml"))


def test_a_save_is_seen(tmp_path):
    file, ended = tmp_path / "app.yaml", threading.Event()
    saves = iter(watch_files(file, AppFilter(file))(ended))
    assert not next(saves)
    file.write_text("saved")
    assert [Path(path) for _, path in next(saved for saved in saves if saved)] == [file]
    ended.set()
    assert not list(saves)


class Printer:
    """Hands what is printed to the test."""

    def __init__(self):
        self._told = queue.Queue()

    @contextmanager
    def follow(self):
        yield lambda summary: self._tell("written", summary.written.get("out", 0))

    def _tell(self, kind, value):
        self._told.put((kind, value))

    def announce(self, start):
        self._tell("fresh", start)

    def warn(self, warnings):
        self._tell("warned", warnings)

    def refuse(self, problems):
        self._tell("refused", [problem.path for problem in problems])

    def fail(self, message):
        self._tell("failed", message)

    def stop(self, message):
        self._tell("stopped", message)

    def complete(self, summary):
        self._tell("completed", summary.written["out"])

    def wait(self, kind, value=None):
        while True:
            found = self._told.get(timeout=apps.DEADLINE)
            if found[0] == kind and value in (None, found[1]):
                return found[1]


@pytest.fixture
def developed(tmp_path):
    """Develop an app with a list of steps: each may wait for what is printed, and returns the document to save."""

    def develop_by(steps, *, fresh):
        file, printer = tmp_path / "app.yaml", Printer()

        def saves(_):
            for number, step in enumerate(steps):
                document = step(printer)
                if document is not None:
                    file.write_text(document if isinstance(document, str) else json.dumps(document))
                    yield {(Change.modified, str(file))} if number else ()

        develop(DevSession(file, apps.in_process, printer, fresh=fresh), saves)

    return develop_by


def test_each_save_runs_the_app_as_it_is_then(tmp_path, developed):
    apps.write_stream(tmp_path, "flights", "carrier,delay", ["AA,20", "UA,3"])

    def completed(printer):
        assert printer.wait("completed") == 1
        return edited(operators=[{**OPERATORS[0], "filter": "dely > 2"}, OPERATORS[1]])

    def refused(printer):
        assert printer.wait("refused") == ["spec.operators[0].filter"]
        return edited(operators=OPERATORS)

    steps = [lambda _: edited(), completed, refused, lambda printer: printer.wait("completed", 2) and None]
    developed(steps, fresh=True)
    assert len(apps.rows(tmp_path / "out")) == 2


def test_a_run_goes_on_without_an_edit_that_it_can_not_take_and_with_one_that_it_can(tmp_path, developed):
    def growing(**parts):
        systems = {"files": {"folder": {"path": "."}}, "log": {"log": {"path": "log.db"}}}
        document = edited(systems=systems, **parts)
        document["spec"]["streams"]["out"] = {"system": "log"}
        return document

    def arrive(number):
        (tmp_path / "flights").mkdir(exist_ok=True)
        (tmp_path / "new.csv").write_text("carrier,delay\nAA,20\n")
        (tmp_path / "new.csv").rename(tmp_path / "flights" / f"{number}.csv")

    def edits_the_graph(printer):
        printer.wait("written", 1)
        return growing(operators=OPERATORS)

    def adds_a_blank_line(printer):
        assert "spec.operators" in printer.wait("failed")
        return f"{json.dumps(growing())}\n\n"

    def edits_a_setting(printer):
        printer.wait("stopped", "goes on: the save changes nothing of the app")
        arrive(2)
        printer.wait("written", 2)
        return growing(job={"commitInterval": "20ms"})

    def ends(printer):
        printer.wait("stopped", "starts again as it was saved")
        arrive(3)
        printer.wait("written", 3)

    arrive(1)
    developed([lambda _: growing(), edits_the_graph, adds_a_blank_line, edits_a_setting, ends], fresh=False)
