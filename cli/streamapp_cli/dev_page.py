"""The page of `streamapp dev` in a browser: the figure of the plan, with what runs in it, and rows of its streams.

It loads nothing from elsewhere, and answers this machine alone.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

from streamapp_cli.dev_sample import of_operators
from streamapp_cli.progress_display import held_back_text, left_out, watermark_text
from streamapp_cli.run_printer import RunPrinter
from streamapp_core.plan.plan import Plan
from streamapp_core.plan.plan_figure import NodeKind, draw_plan
from streamapp_core.plan.render import problem_document, type_text
from streamapp_core.problems import PlanWarning, Problem
from streamapp_core.replay.sampled_app import shown_streams
from streamapp_runtime.driver.fresh_start import FreshStart
from streamapp_runtime.driver.read_lag import PartitionLag
from streamapp_runtime.driver.run_record import Summary
from streamapp_runtime.errors import FAILURES
from streamapp_systems.http_server import HttpServer, Request, Response

SampleRows = Callable[[Plan, str], Sequence[dict[str, object]]]
"""Samples the newest records of a stream of a plan, as documents."""

ReadLag = Callable[[Plan], Sequence[PartitionLag]]
"""Reads how far the run of a plan is behind the ends of its streams."""

_HOSTS = ("127.0.0.1", "localhost")
"""Names of this machine. A page of somebody else's whose name resolves to it would have its own."""
_JSON, _HTML = "application/json", "text/html; charset=utf-8"


class DevPage:
    """The state that the page shows. Any thread may change it, and any thread of the server asks for it."""

    def __init__(self, app: str, sample: SampleRows, lag: ReadLag) -> None:
        """Take the app's name, what reads the rows of its streams, and what reads how far it is behind their ends."""
        self._lock = threading.Lock()
        self._sample = sample
        self._lag = lag
        self._plan: Plan | None = None
        self._of: Plan | None = None
        self._summary: Summary | None = None
        self._shown: dict[str, Any] = {"app": app, "message": "starting", "problems": [], "figure": None}

    def show(self, **values: object) -> None:
        """Show other values."""
        with self._lock:
            self._shown |= values

    def show_plan(self, plan: Plan, run: Plan, *, sampled: bool = False) -> None:
        """Show the figure of the plan of an app of which the plan `run` runs next: that of its sample, or the same."""
        with self._lock:
            self._plan, self._of, self._summary = run, plan if sampled else None, None
            self._shown |= {
                "app": plan.app.metadata.name,
                "problems": [],
                "figure": figure_document(plan, sampled=sampled),
            }

    def show_progress(self, summary: Summary) -> None:
        """Show how far the run is."""
        with self._lock:
            self._summary = summary

    def serve(self, port: int) -> HttpServer:
        """Serve the page to this machine, on a port (0: a free one).

        Raises:
            OSError: the port is in use.
        """
        return HttpServer(self.answer, ("127.0.0.1", port), name="page")

    def answer(self, request: Request) -> Response:
        """Answer the request of a browser."""
        if urlsplit(f"//{request.host}").hostname not in _HOSTS:
            return Response(403, b"ask 127.0.0.1 or localhost")
        asked = urlsplit(request.path)
        if asked.path == "/":
            return Response(200, files("streamapp_cli").joinpath("dev_page.html").read_bytes(), _HTML)
        if asked.path == "/state":
            return _json(200, self._state())
        if asked.path == "/rows":
            return self._rows(parse_qs(asked.query).get("stream", [""])[0])
        if asked.path == "/lag":
            return self._behind()
        return Response(404, b"there is no such page")

    def _state(self) -> dict[str, Any]:
        with self._lock:
            shown, summary, sampled = dict(self._shown), self._summary, self._of
        if summary is not None and sampled is not None:
            summary = of_operators(summary, sampled)
        return shown | {"run": None if summary is None else run_document(summary)}

    def _behind(self) -> Response:
        """Answer by how many offsets the run is behind; nothing of a sample, whose streams end where it began."""
        with self._lock:
            plan = self._plan if self._of is None else None
        if plan is None:
            return _json(200, {})
        behind: Counter[str] = Counter()
        try:
            for lag in self._lag(plan):
                behind[lag.stream] += lag.behind
        except FAILURES as failure:
            return _json(404, {"message": str(failure)})
        return _json(200, behind)

    def _rows(self, stream: str) -> Response:
        with self._lock:
            plan, sampled = self._plan, self._of
        if plan is None:
            return _json(404, {"message": "there is no plan yet"})
        if sampled is not None:
            stream = shown_streams(sampled).get(stream, stream)
        try:
            return _json(200, {"rows": list(self._sample(plan, stream))})
        except FAILURES as failure:
            return _json(404, {"message": str(failure)})


class PagePrinter:
    """Prints what happens to a run, and shows it on the page, too."""

    def __init__(self, printer: RunPrinter, page: DevPage) -> None:
        """Take what prints."""
        self._printer = printer
        self._page = page

    @contextmanager
    def follow(self) -> Iterator[Callable[[Summary], None]]:
        """See `RunPrinter.follow`."""
        self._page.show(message="runs")
        with self._printer.follow() as listener:

            def listen(summary: Summary) -> None:
                self._page.show_progress(summary)
                listener(summary)

            yield listen

    def announce(self, start: FreshStart) -> None:
        """See `RunPrinter.announce`."""
        self._printer.announce(start)

    def warn(self, warnings: Sequence[PlanWarning]) -> None:
        """See `RunPrinter.warn`."""
        self._printer.warn(warnings)

    def serve(self, address: str) -> None:
        """See `RunPrinter.serve`."""
        self._printer.serve(address)

    def refuse(self, problems: Sequence[Problem]) -> None:
        """See `RunPrinter.refuse`."""
        self._page.show(problems=[problem_document(problem) for problem in problems])
        self._printer.refuse(problems)

    def fail(self, message: str) -> None:
        """See `RunPrinter.fail`."""
        self._page.show(message=message)
        self._printer.fail(message)

    def stop(self, message: str) -> None:
        """See `RunPrinter.stop`."""
        self._page.show(message=message)
        self._printer.stop(message)

    def complete(self, summary: Summary) -> None:
        """See `RunPrinter.complete`."""
        self._page.show_progress(summary)
        self._page.show(message=f"completed in {summary.seconds:.1f} s")
        self._printer.complete(summary)


def figure_document(plan: Plan, *, sampled: bool = False) -> dict[str, Any]:
    """Return the figure of a plan as the page reads it; where the app is `sampled`, operators have rows to show."""
    figure, with_rows = draw_plan(plan), shown_streams(plan) if sampled else {}
    return {
        "nodes": [
            {
                "id": node.id,
                "kind": str(node.kind),
                "name": node.name,
                "label": node.label,
                "column": node.column,
                "hasRows": node.kind is NodeKind.STREAM or node.name in with_rows,
            }
            for node in figure.nodes
        ],
        "edges": [
            {
                "source": edge.source,
                "target": edge.target,
                "byTable": edge.by_table,
                "type": "" if edge.rows is None else type_text(plan, edge.rows),
            }
            for edge in figure.edges
        ],
    }


def run_document(summary: Summary) -> dict[str, Any]:
    """Return the progress of a run as the page reads it: for each stream what it has read or written, in words."""
    return {
        "seconds": summary.seconds,
        "streams": {
            stream.name: {
                "rows": stream.read,
                "watermark": watermark_text(stream.watermark),
                "heldBack": "" if stream.held_back is None else held_back_text(stream.held_back),
            }
            for stream in summary.streams
        },
        "written": dict(summary.written),
        "heldBackBy": dict(summary.held_back_by),
        "told": [*left_out(summary), *summary.bad_rows, *summary.incidents, *(n.message for n in summary.notices)],
    }


def _json(status: int, document: object) -> Response:
    return Response(status, json.dumps(document, ensure_ascii=False).encode(), _JSON)
