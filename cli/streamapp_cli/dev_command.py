"""`streamapp dev`: an app runs on this machine, and again as it is at each save of its files."""

import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from watchfiles import Change, watch

from streamapp_cli.app_edits import AppFilter, StartedRun, begins_new_run, schema_files
from streamapp_cli.app_files import embed_schemas, exit_with_error
from streamapp_cli.command_options import Host
from streamapp_cli.dev_page import DevPage, PagePrinter
from streamapp_cli.dev_sample import Sample, SamplePrinter, read_length
from streamapp_cli.peek_command import record_document
from streamapp_cli.plan_inputs import read_app
from streamapp_cli.plan_text import plan_text
from streamapp_cli.run_command import INTERRUPTED, make_host, run_and_print
from streamapp_cli.run_printer import RunPrinter, TextPrinter
from streamapp_cli.signals import interrupts
from streamapp_core.naming import local_run_path
from streamapp_core.plan.plan import Plan
from streamapp_core.spec.parse import ParsedApp
from streamapp_runtime.driver.read_lag import PartitionLag, read_lag
from streamapp_runtime.driver.run_app import Drain, MakeHost
from streamapp_runtime.driver.start_run import RunRequest
from streamapp_runtime.errors import FAILURES, Drained, PlanRefused
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.stream_sample import sample_stream
from streamapp_runtime.threads import in_thread
from streamapp_systems.http_server import HttpServer
from streamapp_systems.registry import local_systems
from streamapp_systems.run_ids import new_run_id

_ASK_SECONDS = 0.2
"""Seconds between two looks at whether Ctrl-C asks for an end."""

_LOOK_MILLISECONDS = 200
_SAMPLED_ROWS = 10
"""Rows of each partition that the page shows."""

Saves = Callable[[threading.Event], Iterable[Collection[tuple[Change, str]]]]
"""Makes an iterator over what was saved, nothing at first and now and then; it ends when the event is set."""


ShowPlan = Callable[[Plan, Plan], None]
"""Shows the plan of an app, and the one that is to run next: of its sample, or the same."""


def _show_nothing(_: Plan, __: Plan) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    """An app that has been planned, as its files were: `text` and `plan` are what runs, the app `of` or its sample."""

    text: str
    plan: Plan
    of: Plan


class DevSession:
    """The runs of an app that is edited: `look` is called by the thread that sees saves, `run_all` by another."""

    def __init__(
        self,
        file: Path,
        make_host: MakeHost,
        printer: RunPrinter,
        *,
        fresh: bool,
        sample: Sample | None = None,
        show_plan: ShowPlan = _show_nothing,
    ) -> None:
        """Take the app's file; with `fresh`, edits that a run can't take begin a new one.

        Of a `sample` each run is a new one. `show_plan` is called with each plan that is to run.
        """
        self.filter = AppFilter(file)
        self._file = file
        self._make_host = make_host
        self._printer = printer
        self._fresh = fresh
        self._sample = sample
        self._show_plan = show_plan
        self._saved = threading.Event()
        self._runs = False
        self._newest: _Version | None = None
        self._started: StartedRun | None = None

    def look(self, saved: Collection[tuple[Change, str]]) -> None:
        """Plan the app as its files are now: a run that goes on makes way for it, if it can be taken.

        It goes on if what was `saved` changes neither the app nor code: a comment, say.
        """
        try:
            text = embed_schemas(self._file.read_text(encoding="utf-8"), self._file.parent)
            planned = plan_text(text, self._file.parent)
            if planned.plan is None:
                self._printer.refuse(planned.problems)
                return
            code = any(path.endswith(".py") for _, path in saved)
            if self._runs and not code and self._newest is not None and self._newest.of.app == planned.plan.app:
                self._printer.stop("goes on: the save changes nothing of the app")
                return
            spec = planned.plan.app.spec
            self.filter.schema_files = frozenset(schema_files(spec, self._file.parent))
            version = self._version(text, planned.plan)
        except (OSError, ValueError, *FAILURES) as failure:
            self._printer.fail(str(failure))
            return
        if version is not None:
            self._newest = version
            self._show_plan(version.of, version.plan)
            self._saved.set()

    def run_all(self, stop_wanted: Drain) -> None:
        """Run each version of the app until its end or the next version, until a stop is wanted."""
        while not stop_wanted():
            if self._saved.wait(_ASK_SECONDS):
                self._saved.clear()
                assert self._newest is not None
                self._run(self._newest, lambda: self._saved.is_set() or stop_wanted())
                if not self._saved.is_set() and not stop_wanted():
                    self._printer.stop("waits for the next save; Ctrl-C ends it")

    def _version(self, text: str, plan: Plan) -> _Version | None:
        """Return what is to run of an app that is accepted; None: it can't be sampled, which is told."""
        if self._sample is None:
            self._begins_new_run(plan)
            return _Version(text=text, plan=plan, of=plan)
        sampled, planned = self._sample.plan(text, plan)
        if planned.plan is None:
            self._printer.refuse(planned.problems)
            return None
        return _Version(text=sampled, plan=planned.plan, of=plan)

    def _begins_new_run(self, plan: Plan) -> bool:
        return self._fresh if self._started is None else begins_new_run(self._started, plan.app, fresh=self._fresh)

    def _run(self, version: _Version, drain: Drain) -> None:
        app, folder = version.plan.app, self._file.parent
        try:
            if self._sample is not None:
                self._sample.clear(version.plan)
            request = RunRequest(
                text=version.text,
                folder=folder,
                state=folder / local_run_path(app.metadata.name),
                fresh=self._sample is None and self._begins_new_run(version.plan),
                run_id=new_run_id(),
            )
            self._started = StartedRun(app=app, completed=False)
            self._runs = True
            summary = run_and_print(request, self._make_host, self._printer, drain)
        except PlanRefused as refused:
            self._printer.refuse(refused.problems)
        except FAILURES as failure:
            self._printer.fail(str(failure))
        except Drained as drained:
            self._printer.stop("starts again as it was saved" if self._saved.is_set() else str(drained))
        else:
            self._started = StartedRun(app=app, completed=True)
            self._printer.complete(summary)
        finally:
            self._runs = False


def develop_file(file: Path, *, fresh: bool, page: int | None, sample: str | None = None) -> int:
    """Run the app of a file at each save, until Ctrl-C; return the exit code.

    `page` is the port of its page in a browser (0: a free one; None: there is none). `sample` is how long before now
    the records are from that a sample of the app reads; None: the app itself runs.
    """
    if sample is not None and fresh:
        exit_with_error("--sample: each run of a sample is a new one; leave out --fresh")
    file = file.absolute()
    parsed = read_app(file)
    # Compiled code is known by the second in which its file was saved: of two saves in one the first would run.
    sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
    name = parsed.app.metadata.name if parsed.app is not None else file.stem
    rows, make = partial(_sample, file.parent), make_host(Host.PROCESSES, file.parent, None)
    shows: list[ShowPlan] = []
    sampled = None
    printer = TextPrinter(name, quiet=False)
    if sample is not None:
        sampled = Sample(file.parent, read_length(sample), time.time_ns() // 1_000_000)
        printer = sample_printer = SamplePrinter(name, sampled, rows)
        shows.append(sample_printer.show_plan)
    both: RunPrinter = printer
    with ExitStack() as served:
        if page is not None:
            shown = DevPage(name, rows, partial(_lag, file.parent))
            both = PagePrinter(printer, shown)
            shows.append(partial(shown.show_plan, sampled=sampled is not None))
            served.enter_context(_served(shown, page, printer))

        def show_plan(plan: Plan, run: Plan) -> None:
            for show in shows:
                show(plan, run)

        session = DevSession(file, make, both, fresh=fresh, sample=sampled, show_plan=show_plan)
        try:
            develop(session, watch_files(file, session.filter))
        except KeyboardInterrupt:
            printer.stop("interrupted; start it again to continue")
            return INTERRUPTED
    return 0


def _served(shown: DevPage, port: int, printer: TextPrinter) -> HttpServer:
    try:
        server = shown.serve(port)
    except OSError as error:
        exit_with_error(f"--page {port}: {error.strerror}. Name another port, or 0 for a free one")
    printer.stop(f"its page is http://{server.host}:{server.port}/")
    return server


def _sample(folder: Path, plan: Plan, stream: str) -> list[dict[str, object]]:
    return [
        record_document(record) for record in sample_stream(plan, stream, local_systems(folder), rows=_SAMPLED_ROWS)
    ]


def _lag(folder: Path, plan: Plan) -> list[PartitionLag]:
    return read_lag(ParsedApp(app=plan.app, problems=(), broken=frozenset()), local_context(folder))


def develop(session: DevSession, saves: Saves) -> None:
    """Run an app at each save of its files, until Ctrl-C."""
    ended = threading.Event()

    def look_at_saves() -> None:
        for number, saved in enumerate(saves(ended)):
            if saved or number == 0:
                session.look(saved)

    with interrupts() as stop_wanted:
        looking = in_thread("saves", look_at_saves)
        try:
            session.run_all(lambda: stop_wanted() or looking.done())
        finally:
            ended.set()
        looking.result()


def watch_files(file: Path, watched: AppFilter) -> Saves:
    """Return the saves of an app's files: those of its folder, with all below it."""
    return lambda ended: watch(
        file.parent,
        watch_filter=watched,
        stop_event=ended,
        raise_interrupt=False,
        rust_timeout=_LOOK_MILLISECONDS,
        yield_on_timeout=True,
    )
