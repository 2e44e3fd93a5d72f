"""Tests of an app: the rows that are given, and those that are expected."""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, JsonValue, ValidationError, WithJsonSchema, model_validator

from streamapp_core.problems import Problem, ProblemCode, sorted_problems
from streamapp_core.spec.base import ColumnName, Duration, Name, SpecModel, Text, key_columns, read_list_of_key
from streamapp_core.spec.validation_problems import validation_problem, written_path
from streamapp_core.spec.yaml_document import read_document

Row = dict[str, JsonValue]
"""A row by its columns, as JSON has it."""

DELETION = "d"
"""The change (`CHANGE_COLUMN`) of a row that deletes its key."""
TIME_FIELD = "__event_time"
"""The field of a given row with the time of its record, where no column has the event time."""

UNREADABLE_FIELD = "__unreadable"
"""The only field of what is given as a record that can't be read: its text."""


_ROWS: dict[str, JsonValue] = {"type": "array", "items": {"type": "object"}}
_PARTITIONS: dict[str, JsonValue] = {"anyOf": [_ROWS, {"type": "array", "items": _ROWS}]}


def _as_object(value: object) -> object:
    return {"rows": value} if isinstance(value, list) else value


class ExpectedRows(SpecModel):
    """The rows of an output: a list of them, or with the columns whose values go together with an order."""

    rows: Annotated[tuple[JsonValue, ...], Field(strict=False, description="The rows, each an object of its columns.")]
    in_order: Annotated[
        ColumnName | Annotated[tuple[ColumnName, ...], Field(strict=False)] | None,
        BeforeValidator(read_list_of_key, json_schema_input_type=ColumnName | list[ColumnName]),
        Field(description="A column, or several: rows that are equal in these come in the order of `rows`."),
    ] = None

    @property
    def order_columns(self) -> tuple[str, ...]:
        """The columns whose values go together with an order; none: any order."""
        return key_columns(self.in_order)


class Phase(SpecModel):
    """Rows that come together, whatever their order, and those that are expected of outputs."""

    given: Annotated[
        dict[Name, Annotated[tuple[JsonValue, ...], WithJsonSchema(_PARTITIONS)]],
        Field(description="Rows by stream: a list of them, or a list of partitions, each a list of rows."),
    ] = {}
    expect: Annotated[
        dict[
            Name, Annotated[ExpectedRows, BeforeValidator(_as_object, json_schema_input_type=ExpectedRows | list[Row])]
        ],
        Field(description="Rows by output or operator; what is absent may have any."),
    ] = {}


class Step(Phase):
    """A phase that begins once the app has processed all before: time passes, then rows come."""

    idle: Annotated[
        Duration | None,
        Field(description="How long nothing comes before `given`: partitions with a shorter `idleTimeout` are idle."),
    ] = None

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if not (self.given or self.expect or self.idle):
            raise ValueError("a step has `idle` of more than nothing, `given`, `expect` or some of them")
        return self


class AppTest(Phase):
    """A test: of the rows given to streams, the app has made the outputs in `expect` when all streams have ended."""

    name: Annotated[Text, Field(description="What is tested, in words.")]
    then: Annotated[
        tuple[Step, ...], Field(description="Steps after `given`: each waits until the app has processed all before.")
    ] = ()
    fails: Annotated[
        Text | None, Field(description="A part of the error that the app ends with, in place of `expect`.")
    ] = None

    @model_validator(mode="after")
    def _expects_something(self) -> Self:
        if any(phase.expect for phase in self.phases) == (self.fails is not None):
            raise ValueError("a test has either `expect`, rows by output, or `fails`, a part of the app's error")
        return self

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The test itself, whose rows come first and which is compared last, and its steps."""
        return self, *self.then

    def places(self, path: str) -> Iterator[tuple[str, Phase]]:
        """Yield the path of each phase of the test, which is at a path itself, and the phase."""
        for number, phase in enumerate(self.phases):
            yield (f"{path}.then[{number - 1}]" if number else path), phase

    @property
    def expected_outputs(self) -> tuple[str, ...]:
        """The outputs and operators whose rows are expected in some phase."""
        return tuple(dict.fromkeys(name for phase in self.phases for name in phase.expect))


class AppTestFile(SpecModel):
    """A file of tests."""

    tests: Annotated[tuple[AppTest, ...], Field(min_length=1, description="The tests, by different names.")]


def parse_app_tests(text: str) -> tuple[AppTestFile | None, tuple[Problem, ...]]:
    """Read a file of tests, and all its problems; None if its form is wrong.

    Raises:
        DocumentError: the text is no YAML.
    """
    document, duplicates = read_document(text)
    try:
        file = AppTestFile.model_validate_json(json.dumps(document))
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        wrong = {written_path(document, one): one for one in found}
        holders = {path[:length] for path in wrong for length in range(len(path))}
        problems = (validation_problem(path, one, AppTestFile) for path, one in wrong.items() if path not in holders)
        return None, sorted_problems((*duplicates, *problems))
    return file, sorted_problems((*duplicates, *_same_names(file.tests)))


def _same_names(tests: Sequence[AppTest]) -> Iterator[Problem]:
    names = [test.name for test in tests]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield Problem(
                path=f"tests[{number}].name",
                code=ProblemCode.DUPLICATE_NAME,
                message=f"`{name}` is the name of tests[{names.index(name)}], too",
            )
