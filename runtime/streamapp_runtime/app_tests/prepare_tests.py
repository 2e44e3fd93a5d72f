"""The tests of a file, made ready to be run: all that is wrong with them is found before anything runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamapp_core.app_tests.app_test import AppTest
from streamapp_core.app_tests.circumstances import Circumstances
from streamapp_core.app_tests.compare_rows import ComparedRow
from streamapp_core.app_tests.placed_rows import check_test, expected_rows, given_rows
from streamapp_core.app_tests.tested_app import build_tested_app
from streamapp_core.app_tests.tested_outputs import find_output
from streamapp_core.plan.plan import Plan, StreamRole
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.problems import Problem, sorted_problems
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp, parse_document
from streamapp_runtime.app_tests.given_records import GivenRecord, find_late_rows, read_given
from streamapp_runtime.app_tests.json_rows import compared_row, json_line, read_rows, value_problems
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.file.file_chunks import UnreadableRow


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTest:
    """A test that can be run: the app's `document` and its plan, records by stream and partition, rows by output."""

    test: AppTest
    document: Mapping[str, Any]
    plan: Plan
    given: Mapping[str, Sequence[Sequence[GivenRecord]]]
    expected: Mapping[str, Sequence[ComparedRow]]

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
        problems += _check_app(result.plan, document, circumstances, counts, test.expect)
        problems += check_test(path, test, result.plan)
        given = dict(_given(path, test, result.plan, problems))
        expected = {name: list(_expected(path, test, name, result.plan, problems)) for name in test.expect}
        prepared.append(PreparedTest(test=test, document=document, plan=result.plan, given=given, expected=expected))
    return (() if problems else tuple(prepared)), sorted_problems(problems)


def _counts(path: str, test: AppTest, app: StreamApp) -> dict[str, int]:
    """Return the partitions of all streams: of what is read those that have rows, of the others one."""
    return {
        name: max(len(given_rows(path, test, name)), 1) if name in test.given else stream.partitions or 1
        for name, stream in app.spec.streams.items()
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


def _given(
    path: str, test: AppTest, plan: Plan, problems: list[Problem]
) -> Iterator[tuple[str, list[list[GivenRecord]]]]:
    for name, stream in plan.streams.items():
        if stream.spec is None or stream.role is StreamRole.OUTPUT:
            continue
        partitions = []
        for rows in given_rows(path, test, name):
            records, wrong = read_given(rows, stream)
            problems += (*wrong, *find_late_rows(rows, records, stream, plan))
            partitions.append([record for record in records if record is not None])
        yield name, partitions


def _expected(path: str, test: AppTest, name: str, plan: Plan, problems: list[Problem]) -> Iterator[ComparedRow]:
    output = find_output(name, plan)
    schema = None if output is None else output.schema
    if schema is None:
        return
    rows = expected_rows(path, test, name)
    columns = arrow_schema(schema)
    read = read_rows([json_line(row.row) for row in rows], columns, plan.app.spec.job.time_zone)
    for placed, row in zip(rows, read, strict=True):
        problems += value_problems(placed, row, columns)
        if not isinstance(row, UnreadableRow):
            yield compared_row(row)
