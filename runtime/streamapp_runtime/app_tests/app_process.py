"""Starts of an app, each in a process of its own, which may die at a fail-point.

The processes are forked from one that has imported all they need and never runs an app itself (`forkserver`), so that
none inherits threads, and modules of the app are imported by each of them.
"""

import multiprocessing
import os
import signal
from functools import cache
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext
from pathlib import Path
from random import Random

import msgspec

from streamapp_runtime import fail_points
from streamapp_runtime.app_tests.phase_gate import HeldPhase
from streamapp_runtime.app_tests.tested_processors import TestedProcessors
from streamapp_runtime.driver.run_app import run_app
from streamapp_runtime.driver.start_run import RunRequest
from streamapp_runtime.errors import FAILURES
from streamapp_runtime.hosts.in_process_host import InProcessHost

_PRELOADED = ("streamapp_runtime.app_tests.app_process", "pandas", "pyarrow.dataset", "sqlglot.dialects.duckdb")
_LOG, _OUTCOME = "start.log", "outcome.json"
_LOG_SHOWN = 4_000
"""Characters of what a process has printed."""


class StartRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to start an app, given as text.

    Paths in it resolve from `folder`; its state, and what the process prints, are below `state`. Its rows come in
    `phases`, the rest after them. For `rows_at_once` see `Circumstances`; `seed` draws the order. `fail_point` is where
    it dies, in the phase of the number `dies_in` or later; empty: nowhere.
    """

    text: str
    folder: str
    state: str
    phases: tuple[HeldPhase, ...] = ()
    fail_point: str = ""
    dies_in: int = 0
    rows_at_once: int | None = None
    seed: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a start: completed, killed at its fail-point, or `failed` for this reason."""

    completed: bool = False
    killed: bool = False
    failed: str = ""


_decode = msgspec.json.Decoder(Outcome).decode


class AppProcess:
    """A start that runs."""

    def __init__(self, request: StartRequest) -> None:
        self._state = Path(request.state)
        self._state.mkdir(parents=True, exist_ok=True)
        (self._state / _OUTCOME).unlink(missing_ok=True)
        self._process = _fork_server().Process(target=_run, args=(request,), daemon=True)
        self._process.start()

    @property
    def sentinel(self) -> int:
        """The handle that becomes ready when it ends (`multiprocessing.connection.wait`)."""
        return self._process.sentinel

    def outcome(self) -> Outcome:
        """Wait for the end of the process, and return how it ended."""
        self._process.join()
        code = self._process.exitcode
        self._process.close()
        if code == -signal.SIGKILL:
            return Outcome(killed=True)
        if code:
            printed = (self._state / _LOG).read_text(errors="replace")[-_LOG_SHOWN:]
            ended = "with exit code" if code > 0 else "by signal"
            return Outcome(failed=f"its process ended {ended} {abs(code)}; it printed: {printed or 'nothing'}")
        return _decode((self._state / _OUTCOME).read_bytes())

    def stop(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()


@cache
def _fork_server() -> ForkServerContext:
    """Start what forks the processes: neither it nor they hear Ctrl-C, since who has started them stops them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    resource_tracker.ensure_running()  # which else unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


def _run(request: StartRequest) -> None:
    """Run the app in this process, and end it without any clean-up: a process that is killed has none, either."""
    state = Path(request.state)
    if not state.is_dir():
        os._exit(1)  # who has started it was interrupted, and is gone
    log = os.open(state / _LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    outcome = _run_to_the_end(request)
    (state / _OUTCOME).write_bytes(msgspec.json.encode(outcome))
    os._exit(0)


def _run_to_the_end(request: StartRequest) -> Outcome:
    armed = not request.phases
    fail_points.arm(request.fail_point if armed else "")

    def begin(phase: int) -> None:
        nonlocal armed
        if not armed and phase >= request.dies_in:
            armed = True
            fail_points.arm(request.fail_point)

    processors = TestedProcessors(
        request.phases,
        Path(request.state),
        request.rows_at_once,
        lambda: Random(request.seed),  # noqa: S311 - an order, no secret
        begin,
    )
    run = RunRequest(
        text=request.text,
        folder=Path(request.folder),
        state=Path(request.state),
        fresh=False,
        run_id="test",
        delete_outputs=False,
    )
    try:
        run_app(run, lambda channel, *_: InProcessHost(channel, processors.context), lambda summary: None)  # noqa: ARG005
    except FAILURES as failure:
        return Outcome(failed=str(failure))
    return Outcome(completed=True)
