"""The rows of a test with their places in its file, checked against the streams of the plan."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from streamapp_core.app_tests.app_test import DELETION, TIME_FIELD, UNREADABLE_FIELD, AppTest, ExpectedRows, Phase, Row
from streamapp_core.app_tests.tested_outputs import ExpectedOutput, find_output, output_names
from streamapp_core.near_names import did_you_mean
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.schema import DataType, Schema, TypeKind
from streamapp_core.spec.streams import CHANGE_COLUMN
from streamapp_core.spec.validation_problems import shown

_READ = (StreamRole.INPUT, StreamRole.SIDE_INPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRow:
    """A row, and its path in the file of tests."""

    path: str
    row: Row

    @property
    def deletes(self) -> bool:
        """Whether it deletes its key."""
        return self.row.get(CHANGE_COLUMN) == DELETION

    @property
    def unreadable(self) -> str | None:
        """The text of a record that can't be read; None of a row."""
        text = self.row.get(UNREADABLE_FIELD)
        return text if isinstance(text, str) else None


def given_rows(path: str, phase: Phase, name: str) -> tuple[tuple[PlacedRow, ...], ...]:
    """Return the rows that a phase, at a path, gives to a stream, by partition; without any it has an empty one.

    What is no row is left out: `check_test` has told it.
    """
    values = phase.given.get(name, ())
    path = f"{path}.given.{name}"
    if not _are_partitions(values):
        return (_placed(path, values),)
    return tuple(
        _placed(f"{path}[{number}]", rows) if isinstance(rows, list) else () for number, rows in enumerate(values)
    )


def expected_rows(path: str, phase: Phase, name: str) -> tuple[PlacedRow, ...]:
    """Return the rows that a phase, at a path, expects of an output; see `given_rows`."""
    return _placed(f"{path}.expect.{name}", phase.expect[name].rows)


def check_test(path: str, test: AppTest, plan: Plan) -> Iterator[Problem]:
    """Yield what is wrong with the streams and columns that a test names; the types of values are not looked at."""
    for place, phase in test.places(path):
        yield from _check_phase(place, phase, plan)
    filled_first = filled_before_all(plan)
    for number, step in enumerate(test.then):
        for name in step.given.keys() & filled_first:
            yield Problem(
                path=f"{path}.then[{number}].given.{name}",
                code=ProblemCode.NOT_SUPPORTED,
                message=f"a table with `bootstrap` reads all of `{name}` before anything else: give its rows in the "
                "test's first `given`, or set `bootstrap: false` of the table",
            )


def filled_before_all(plan: Plan) -> set[str]:
    """Return the side inputs that are read to their ends before anything else."""
    return {name for table in plan.tables.values() if table.spec.bootstrap for name in table.spec.side_inputs}


def _check_phase(path: str, phase: Phase, plan: Plan) -> Iterator[Problem]:
    for name, values in phase.given.items():
        stream = plan.streams.get(name)
        if stream is None or stream.spec is None or stream.role not in _READ:
            read = [found.name for found in plan.streams.values() if found.spec is not None and found.role in _READ]
            yield _unknown(f"{path}.given.{name}", name, read, "is no stream that the app reads")
            continue
        yield from (_not_lists if _are_partitions(values) else _not_rows)(f"{path}.given.{name}", values)
        for row in (row for partition in given_rows(path, phase, name) for row in partition):
            yield from _check_given(row, stream)
    for name, expected in phase.expect.items():
        output = find_output(name, plan)
        if output is None:
            yield _unknown(
                f"{path}.expect.{name}", name, output_names(plan), "is no output of the app, and no operator"
            )
            continue
        yield from _check_expected(f"{path}.expect.{name}", expected, output)
        for row in expected_rows(path, phase, name):
            if output.schema is not None:
                yield from _unknown_columns(row.path, row.row, output.schema)


def _are_partitions(values: Sequence[JsonValue]) -> bool:
    return any(isinstance(value, list) for value in values)


def _placed(path: str, values: Sequence[JsonValue]) -> tuple[PlacedRow, ...]:
    return tuple(
        PlacedRow(path=f"{path}[{number}]", row=value) for number, value in enumerate(values) if isinstance(value, dict)
    )


def _not_lists(path: str, values: Sequence[JsonValue]) -> Iterator[Problem]:
    """Yield what is no list of rows, of partitions, and what is no row in these."""
    for number, value in enumerate(values):
        place = f"{path}[{number}]"
        if isinstance(value, list):
            yield from _not_rows(place, value)
        else:
            yield _invalid(place, f"a list of rows is expected, as other partitions have, not {shown(value)}")


def _not_rows(path: str, values: Sequence[JsonValue]) -> Iterator[Problem]:
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            yield _invalid(f"{path}[{number}]", f"a row is an object of its columns, not `{shown(value)}`")


def _check_given(row: PlacedRow, stream: PlannedStream) -> Iterator[Problem]:
    spec, fields = stream.spec, dict(row.row)
    if spec is None or stream.schema is None:
        return
    if UNREADABLE_FIELD in fields:
        text = row.unreadable
        if len(fields) > 1 or text is None or not text.strip() or "\n" in text:
            yield _invalid(
                row.path, f"a record that can't be read has nothing but `{UNREADABLE_FIELD}`, a line of text"
            )
        return
    if CHANGE_COLUMN in fields and spec.changes.is_read:
        change = fields.pop(CHANGE_COLUMN)
        if change not in ("u", DELETION):
            yield _invalid(
                f"{row.path}.{CHANGE_COLUMN}", f"{shown(change)} is neither u (a newest row) nor d (deleted)"
            )
    if TIME_FIELD in fields and spec.event_time is None and stream.system_kind.transactional:
        del fields[TIME_FIELD]
    yield from _unknown_columns(row.path, fields, stream.schema)


def _check_expected(path: str, expected: ExpectedRows, output: ExpectedOutput) -> Iterator[Problem]:
    yield from _not_rows(path, expected.rows)
    if output.schema is None:
        yield Problem(
            path=path,
            code=ProblemCode.NOT_SUPPORTED,
            message=f"`{output.name}` gets rows of different kinds, which can't be compared: expect those of the "
            f"operators that {', '.join(output.senders)} read",
        )
        return
    for column in expected.order_columns:
        if output.schema.get(column) is None:
            yield Problem(
                path=f"{path}.inOrder",
                code=ProblemCode.UNKNOWN_COLUMN,
                message=f"`{output.name}` has no column `{column}`{did_you_mean(column, output.schema.names)}",
            )
    if expected.order_columns and output.key is not None:
        yield Problem(
            path=f"{path}.inOrder",
            code=ProblemCode.NOT_SUPPORTED,
            message=f"`{output.name}` has changes: how many there are depends on commits, so only the table at the end "
            "is compared: leave `inOrder` out",
        )


def _unknown_columns(path: str, row: Row, schema: Schema) -> Iterator[Problem]:
    types = {column.name: column.type for column in schema.columns}
    return _unknown_fields(path, row, types)


def _unknown_fields(path: str, fields: Row, types: dict[str, DataType]) -> Iterator[Problem]:
    for name, value in fields.items():
        if name not in types:
            yield Problem(
                path=f"{path}.{name}",
                code=ProblemCode.UNKNOWN_COLUMN,
                message=f"there is no `{name}` among {', '.join(types)}{did_you_mean(name, list(types))}",
            )
            continue
        yield from _unknown_inside(f"{path}.{name}", value, types[name])


def _unknown_inside(path: str, value: JsonValue, of: DataType) -> Iterator[Problem]:
    """Yield the fields of structs that their types don't have, in arrays, too."""
    if of.kind is TypeKind.STRUCT and isinstance(value, dict):
        yield from _unknown_fields(path, value, {field.name: field.type for field in of.fields})
    elif of.kind is TypeKind.ARRAY and isinstance(value, list):
        for number, element in enumerate(value):
            yield from _unknown_inside(f"{path}[{number}]", element, of.element)
    elif of.kind is TypeKind.MAP and isinstance(value, dict):
        for name, held in value.items():
            yield from _unknown_inside(f"{path}.{name}", held, of.value)


def _unknown(path: str, name: str, known: Sequence[str], what: str) -> Problem:
    return Problem(
        path=path,
        code=ProblemCode.UNKNOWN_STREAM,
        message=f"`{name}` {what}; there are {', '.join(known) or 'none'}{did_you_mean(name, known)}",
    )


def _invalid(path: str, message: str) -> Problem:
    return Problem(path=path, code=ProblemCode.INVALID_SPEC, message=message)
