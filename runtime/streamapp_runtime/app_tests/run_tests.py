"""Runs of tests: each in several circumstances, some of them at the same time."""

import json
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory

from streamapp_core.app_tests.app_test import Phase
from streamapp_core.app_tests.circumstances import Circumstances
from streamapp_core.app_tests.compare_rows import DiffLine, compare_rows
from streamapp_core.app_tests.operator_rows import output_stream
from streamapp_core.app_tests.tested_app import build_tested_app
from streamapp_core.plan.plan import Plan
from streamapp_runtime.app_tests.app_process import AppProcess, Outcome, StartRequest
from streamapp_runtime.app_tests.given_records import write_stream
from streamapp_runtime.app_tests.prepare_tests import PreparedTest
from streamapp_runtime.app_tests.tested_processors import read_step
from streamapp_runtime.app_tests.written_rows import read_written
from streamapp_systems.registry import local_systems


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of a test in some circumstances: passed, `failed` for this reason, or outputs differ."""

    circumstances: Circumstances
    failed: str = ""
    differences: tuple[tuple[str, tuple[DiffLine, ...]], ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all outputs are as expected."""
        return not self.failed and not self.differences


Conversation = Generator[StartRequest, Outcome, RunResult]
"""A run that asks for starts of its app, and is told how each has ended."""


def run_tests(
    tests: Sequence[PreparedTest], circumstances: Sequence[Circumstances], folder: Path, *, jobs: int, seconds: float
) -> Iterator[tuple[int, RunResult]]:
    """Run tests of the app in a folder; yield each result with its test's number, as they come.

    So many `jobs` are run at the same time. A start of the app that takes longer than `seconds` is killed, and has
    failed.
    """
    cases = [(number, _run(test, one, folder)) for number, test in enumerate(tests) for one in circumstances]
    running: dict[int, _Running] = {}
    waiting = deque(cases)
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                number, conversation = waiting.popleft()
                _start(running, number, conversation, next(conversation), seconds)
            left = min(one.deadline for one in running.values()) - time.monotonic()
            ready = wait(list(running), max(left, 0))
            ended = {sentinel for sentinel in running if sentinel in ready}
            late = {sentinel for sentinel, one in running.items() if one.deadline <= time.monotonic()} - ended
            for sentinel in (*ended, *late):
                one = running.pop(sentinel)
                outcome = one.process.outcome() if sentinel in ended else one.kill(seconds)
                try:
                    request = one.conversation.send(outcome)
                except StopIteration as done:
                    yield one.number, done.value
                else:
                    _start(running, one.number, one.conversation, request, seconds)
    finally:
        for one in running.values():
            one.process.stop()
        for _, conversation in cases:
            conversation.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    number: int
    conversation: Conversation
    process: AppProcess
    deadline: float

    def kill(self, seconds: float) -> Outcome:
        self.process.stop()
        return Outcome(failed=f"the app did not end within {seconds:g} s")


def _start(
    running: dict[int, _Running], number: int, conversation: Conversation, request: StartRequest, seconds: float
) -> None:
    process = AppProcess(request)
    running[process.sentinel] = _Running(
        number=number, conversation=conversation, process=process, deadline=time.monotonic() + seconds
    )


def _run(test: PreparedTest, circumstances: Circumstances, folder: Path) -> Conversation:
    """Run a test to the end of its app, and compare what was written."""
    with TemporaryDirectory(prefix="streamapp-test-") as temporary:
        document = build_tested_app(test.document, test.plan, circumstances, temporary, test.test.expected_outputs)
        plan = test.tested_plan(document)
        for name, partitions in test.given.items():
            stream = plan.streams[name]
            end = ".db" if stream.system_kind.transactional else ""
            write_stream(stream, partitions, Path(temporary, f"{stream.system}{end}"))
        state = Path(temporary, "state")
        deaths = circumstances.deaths
        for number, death in enumerate((*deaths, "")):
            outcome = yield StartRequest(
                text=json.dumps(document),
                folder=str(folder),
                state=str(state),
                phases=test.phases,
                fail_point=death,
                dies_in=number * (len(test.phases) + 1) // max(len(deaths), 1),
                rows_at_once=circumstances.rows_at_once,
                seed=f"{test.test.name}, {circumstances.name}, {death}",
            )
            if outcome.failed:
                return RunResult(circumstances=circumstances, failed=_unlike(test.test.fails, outcome.failed))
            if outcome.completed:
                break
        else:
            return RunResult(circumstances=circumstances, failed="its process was killed by somebody else")
        if test.test.fails is not None:
            return RunResult(
                circumstances=circumstances, failed=f"it came to its end, and was to fail with: {test.test.fails}"
            )
        return RunResult(circumstances=circumstances, differences=tuple(_differences(test, plan, folder, state)))


def _unlike(expected: str | None, failed: str) -> str:
    """Return the error of an app, unless it is the one that is expected."""
    if expected is None:
        return failed
    return "" if expected in failed else f"it was to fail with: {expected}; it failed with: {failed}"


def _differences(
    test: PreparedTest, plan: Plan, folder: Path, state: Path
) -> Iterator[tuple[str, tuple[DiffLine, ...]]]:
    """Yield how outputs differ from what is expected, after each step and at the end."""
    systems = local_systems(folder)
    for number, (step, expected) in enumerate(zip(test.test.then, test.expected_then, strict=True)):
        written = read_step(state, number)
        for name, rows in expected.items():
            lines = compare_rows(rows, written[output_stream(name, test.plan)], _order(step, name, test, plan))
            if lines:
                yield f"{name} after then[{number}]", lines
    for name, rows in test.expected.items():
        found = read_written(output_stream(name, test.plan), plan, systems)
        lines = compare_rows(rows, found, _order(test.test, name, test, plan))
        if lines:
            yield name, lines


def _order(phase: Phase, name: str, test: PreparedTest, plan: Plan) -> list[str]:
    """Return the columns whose values go together with an order, as they are spelled in the schema."""
    schema = plan.streams[output_stream(name, test.plan)].schema
    columns = [] if schema is None else map(schema.get, phase.expect[name].order_columns)
    return [column.name for column in columns if column is not None]
