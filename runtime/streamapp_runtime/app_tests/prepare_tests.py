"""The tests of a file, made ready to be run: all that is wrong with them is found before anything runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamapp_core.app_tests.app_test import AppTest, Phase, Step
from streamapp_core.app_tests.circumstances import Circumstances
from streamapp_core.app_tests.compare_rows import ComparedRow
from streamapp_core.app_tests.operator_rows import output_stream
from streamapp_core.app_tests.placed_rows import PlacedRow, check_test, expected_rows, filled_before_all, given_rows
from streamapp_core.app_tests.tested_app import build_tested_app
from streamapp_core.app_tests.tested_outputs import find_output
from streamapp_core.plan.plan import Plan, StreamRole
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.problems import Problem, sorted_problems
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp, parse_document
from streamapp_runtime.app_tests.given_records import GivenRecord, read_given
from streamapp_runtime.app_tests.json_rows import compared_row, json_line, read_rows, value_problems
from streamapp_runtime.app_tests.phase_gate import HeldPhase
from streamapp_runtime.app_tests.undecided_rows import PlacedRecords, find_undecided_rows
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.file.file_chunks import UnreadableRow

ExpectedOfOutputs = Mapping[str, Sequence[ComparedRow]]
"""The rows that are expected, by output or operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTest:
    """A test that can be run: the app's `document` and its plan, records by stream and partition, rows by output.

    `phases` say which of the records come when, if not all at once, and `expected_then` has the rows that each step
    expects.
    """

    test: AppTest
    document: Mapping[str, Any]
    plan: Plan
    given: Mapping[str, Sequence[Sequence[GivenRecord]]]
    expected: ExpectedOfOutputs
    expected_then: Sequence[ExpectedOfOutputs] = ()
    phases: tuple[HeldPhase, ...] = ()

    def tested_plan(self, document: Mapping[str, Any]) -> Plan:
        """Return the plan of the app as a test runs it."""
        planned = make_plan(parse_document(document), self._counts, algorithms=installed_algorithm).plan
        assert planned is not None
        return planned

    @property
    def _counts(self) -> dict[str, int]:
        return {name: stream.partitions for name, stream in self.plan.streams.items()}


def prepare_tests(
    document: Mapping[str, Any], parsed: ParsedApp, tests: Sequence[AppTest], circumstances: Sequence[Circumstances]
) -> tuple[tuple[PreparedTest, ...], tuple[Problem, ...]]:
    """Make tests of an app ready to be run in some circumstances; return them, or all problems there are."""
    if parsed.app is None or parsed.problems:
        return (), parsed.problems
    prepared: list[PreparedTest] = []
    problems: list[Problem] = []
    for number, test in enumerate(tests):
        path = f"tests[{number}]"
        counts = _counts(path, test, parsed.app)
        result = make_plan(parsed, counts, algorithms=installed_algorithm)
        if result.plan is None:
            problems += result.problems
            continue
        problems += _check_app(result.plan, document, circumstances, counts, test.expected_outputs)
        problems += check_test(path, test, result.plan)
        placed = [_placed(place, phase, result.plan, counts, problems) for place, phase in test.places(path)]
        problems += find_undecided_rows(test, placed, result.plan)
        given = {name: _joined([phase[name] for phase in placed]) for name in placed[0]}
        expected, *expected_then = (
            {name: list(_expected(place, phase, name, result.plan, problems)) for name in phase.expect}
            for place, phase in test.places(path)
        )
        prepared.append(
            PreparedTest(
                test=test,
                document=document,
                plan=result.plan,
                given=given,
                expected=expected,
                expected_then=expected_then,
                phases=tuple(_held(test, placed, result.plan)) if test.then else (),
            )
        )
    return (() if problems else tuple(prepared)), sorted_problems(problems)


def _counts(path: str, test: AppTest, app: StreamApp) -> dict[str, int]:
    """Return the partitions of all streams: of what is read those that have rows, of the others one."""
    return {
        name: max((len(given_rows(path, phase, name)) for phase in given), default=0) or stream.partitions or 1
        for name, stream in app.spec.streams.items()
        for given in [[phase for phase in test.phases if name in phase.given]]
    }


def _check_app(
    plan: Plan,
    document: Mapping[str, Any],
    circumstances: Sequence[Circumstances],
    counts: Mapping[str, int],
    expected: Iterable[str],
) -> Iterator[Problem]:
    """Yield why an app that is accepted can't be tested."""
    for one in circumstances:
        tested = make_plan(
            parse_document(build_tested_app(document, plan, one, ".", expected)), counts, algorithms=installed_algorithm
        )
        for problem in tested.problems:
            yield Problem(
                path=problem.path,
                code=problem.code,
                message=f"the app can't be tested {one.name}, on files and embedded logs: {problem.message}",
            )


def _placed(path: str, phase: Phase, plan: Plan, counts: Mapping[str, int], problems: list[Problem]) -> PlacedRecords:
    """Return the rows of a phase and their records; what is wrong with them is added to `problems`."""
    placed: dict[str, list[list[tuple[PlacedRow, GivenRecord | None]]]] = {}
    for name, stream in plan.streams.items():
        if stream.spec is None or stream.role is StreamRole.OUTPUT:
            continue
        placed[name] = [[] for _ in range(counts[name])]
        for partition, rows in zip(placed[name], given_rows(path, phase, name), strict=False):
            records, wrong = read_given(rows, stream)
            problems += wrong
            partition.extend(zip(rows, records, strict=True))
    return placed


def _joined(phases: Iterable[Sequence[Sequence[tuple[PlacedRow, GivenRecord | None]]]]) -> list[list[GivenRecord]]:
    """Return the records of a stream in all phases, by partition."""
    return [
        [record for rows in partitions for _, record in rows if record is not None]
        for partitions in zip(*phases, strict=True)
    ]


def _held(test: AppTest, placed: Sequence[PlacedRecords], plan: Plan) -> Iterator[HeldPhase]:
    """Yield the phases of a test: the time that passes before the rows of one is a phase of its own."""
    held = placed[0].keys() - filled_before_all(plan)
    ends = {name: [0] * len(placed[0][name]) for name in sorted(held)}
    for number, (phase, rows) in enumerate(zip(test.phases, placed, strict=True)):
        step = number - 1 if number else None
        if isinstance(phase, Step) and phase.idle:
            yield HeldPhase(idle=phase.idle, limits=ends)
        ends = {
            name: [end + len(partition) for end, partition in zip(before, rows[name], strict=True)]
            for name, before in ends.items()
        }
        outputs = () if step is None else tuple(output_stream(name, plan) for name in phase.expect)
        yield HeldPhase(idle=0, limits=ends, step=step, outputs=outputs)


def _expected(path: str, phase: Phase, name: str, plan: Plan, problems: list[Problem]) -> Iterator[ComparedRow]:
    output = find_output(name, plan)
    schema = None if output is None else output.schema
    if schema is None:
        return
    rows = expected_rows(path, phase, name)
    columns = arrow_schema(schema)
    read = read_rows([json_line(row.row) for row in rows], columns, plan.app.spec.job.time_zone)
    for placed, row in zip(rows, read, strict=True):
        problems += value_problems(placed, row, columns)
        if not isinstance(row, UnreadableRow):
            yield compared_row(row)
