"""Starts of apps in processes of their own, which may die at a fail-point: forked, so that none imports everything.

The program of the server that forks, `python -m differential.forked_starts`, reads one request a line and answers each
with how its process has ended. It has no threads, and never runs an app itself.
"""

import faulthandler
import gc
import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pandas  # noqa: F401 - with the next ones: what every start would import when it needs it
import pyarrow.dataset  # noqa: F401
import sqlglot.dialects.duckdb  # noqa: F401

import differential.functions  # noqa: F401
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.plan import plan
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import parse_text
from streamapp_runtime import fail_points
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.run_app import MakeHost
from streamapp_runtime.driver.run_record import Summary
from streamapp_runtime.errors import ClaimBroken, PlanRefused
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.hosts.in_process_host import InProcessHost
from streamapp_runtime.processor.driver_channel import DriverChannel
from streamapp_runtime.sql_engine import SqlEngine
from support import apps

SECONDS = 240
"""A process that has not ended by then is stuck."""
PROGRESS, STOP, LOG = "progress.json", "stop", "start.log"


class StartRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to start an app in a folder: it ends by itself, or when it is stopped, or at a fail-point.

    It is stopped after so many `reports`, or when there is a file `STOP`. A run that goes on with another number of
    `processors` than it had gets them while it runs, as on Kubernetes.
    """

    folder: str
    document: dict[str, Any]
    processors: int
    reports: int | None = None
    fail_point: str | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a start: refused with problems of these codes, failed with an error, stopped, completed, or killed.

    It fails with a `broken_claim` if a check of its rows stops it.
    """

    refused: tuple[str, ...] = ()
    failed: str = ""
    broken_claim: bool = False
    stopped: bool = False
    completed: bool = False
    killed: bool = False


class ProgressReport(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a start that runs: how many reports there were, and the newest summary."""

    reports: int
    summary: Summary


_decode_request = msgspec.json.Decoder(StartRequest).decode
_decode_outcome = msgspec.json.Decoder(Outcome).decode
_decode_progress = msgspec.json.Decoder(ProgressReport).decode


class Starts(Protocol):
    """Starts apps, one at a time."""

    def start(self, request: StartRequest) -> None:
        """Start an app."""
        ...

    def ended(self, seconds: float) -> Outcome | None:
        """Wait so long for the end of the start, and return its outcome; None if it still runs."""
        ...


class Forks:
    """A server of forked starts; see `Starts`."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "differential.forked_starts"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def start(self, request: StartRequest) -> None:
        """See `Starts.start`."""
        forget_progress(Path(request.folder))
        self._server.stdin.write(msgspec.json.encode(request) + b"\n")
        self._server.stdin.flush()

    def ended(self, seconds: float) -> Outcome | None:
        """See `Starts.ended`."""
        ready, _, _ = select.select([self._server.stdout], [], [], seconds)
        return _decode_outcome(self._server.stdout.readline()) if ready else None

    def close(self) -> None:
        """End the server."""
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


def forget_progress(folder: Path) -> None:
    """Remove what an earlier start in a folder has left: its progress, and the request to stop it."""
    for name in (PROGRESS, STOP):
        (folder / name).unlink(missing_ok=True)


def progress(folder: Path) -> ProgressReport | None:
    """Read the progress of a start that runs in a folder; None if it has not reported any."""
    with suppress(FileNotFoundError):
        return _decode_progress((folder / PROGRESS).read_bytes())
    return None


def _serve() -> None:
    with SqlEngine() as engine:
        engine.query("SELECT 1 AS one")  # makes the database
    gc.freeze()
    for line in iter(sys.stdin.buffer.readline, b""):
        request = _decode_request(line)
        plan(parse_text(json.dumps(request.document)), {})  # for what is kept of it: all starts of the app need it
        pid = os.fork()
        if pid == 0:
            _run(request)
        os.write(1, msgspec.json.encode(_outcome(Path(request.folder), pid)) + b"\n")


def _outcome(folder: Path, pid: int) -> Outcome:
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL:
        return Outcome(killed=True)
    if code != 0:
        log = (folder / LOG).read_text(errors="replace")
        told, *_ = log.partition("nanobind: leaked")  # which follows where an interpreter ends
        return Outcome(failed=f"the process ended with {code}: {told[-4000:]}")
    return _decode_outcome((folder / "outcome.json").read_bytes())


def _run(request: StartRequest) -> None:
    """Run the app in this process, and end it without any clean-up: a process that is killed has none, either."""
    folder = Path(request.folder)
    signal.alarm(SECONDS)
    log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (0, 1, 2):
        os.dup2(log, stream)
    faulthandler.enable()  # a crash in a library says where each thread was
    gc.disable()  # it is over soon
    fail_points.arm(request.fail_point or "")
    outcome = run_start(request, _make_host)
    (folder / "outcome.json").write_bytes(msgspec.json.encode(outcome))
    os._exit(0)


def _make_host(channel: DriverChannel, _app: StreamApp, _log_folder: Path) -> InProcessHost:
    """Make a host of processors that keep more than two values of a group as entries, as others do with many."""
    return InProcessHost(channel, lambda config: replace(local_context(Path(config.folder)), values_inline=2))


def run_start(request: StartRequest, make_host: MakeHost) -> Outcome:
    """Run an app to its end, or until it is stopped; its progress is in its folder."""
    folder, reports = Path(request.folder), 0

    def listener(summary: Summary) -> None:
        nonlocal reports
        reports += 1
        written = folder / f"{PROGRESS}.new"
        written.write_bytes(msgspec.json.encode(ProgressReport(reports=reports, summary=summary)))
        written.rename(folder / PROGRESS)
        if reports == request.reports or (folder / STOP).exists():
            raise apps.Stop

    try:
        text, scale = json.dumps(request.document), partial(_scale, request.processors)
        apps.run(text, folder, make_host, fresh=False, listener=listener, requested_change=scale)
    except PlanRefused as refused:
        return Outcome(refused=tuple(str(problem.code) for problem in refused.problems))
    except ClaimBroken as broken:
        return Outcome(failed=str(broken), broken_claim=True)
    except apps.Stop:
        return Outcome(stopped=True)
    return Outcome(completed=True)


def _scale(count: int, run: PlannedRun) -> PlannedRun | None:
    """Return the run with so many processors, if it has not."""
    if len(run.model.processors) == count:
        return None
    location = run.model.processors["0"].location
    processors = {str(number): location for number in range(count)}
    return replace(run, model=build_job_model(run.plan, run.model, processors))


if __name__ == "__main__":
    _serve()
    os._exit(0)  # what libraries print at an interpreter's end is of no use
