"""The steps of one operator in SQL: named, checked one after the other, with the issues found on the way."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from pydantic import ValidationError

from streamapp_core.graph.graph import STEP_SEPARATOR, Operator
from streamapp_core.plan.problem_collector import ProblemCollector
from streamapp_core.plan.row_schemas import RowFollower
from streamapp_core.problems import Problem, ProblemCode, path_text
from streamapp_core.schema import Schema
from streamapp_core.spec.operators import OperatorSpec
from streamapp_core.sql.query_tree import Span, SqlIssue, located

T = TypeVar("T")
R = TypeVar("R")
_LONGEST_NAME = 63
_HASHED = 8


class Refused(Exception):  # noqa: N818 - a signal inside this package
    """A part of the query has issues, which are kept; nothing can be made of it."""


class StepBuilder:
    """The steps made so far of one operator in SQL."""

    def __init__(self, operator: Operator, follower: RowFollower) -> None:
        """Make steps of an operator; `follower` knows the columns of all that it reads."""
        assert operator.spec.sql is not None
        self.text = operator.spec.sql
        self.name = operator.name
        self.steps: list[OperatorSpec] = []
        self.problems: list[Problem] = []
        self._operator = operator
        self._follower = follower
        self._taken: set[str] = set()

    @property
    def path(self) -> str:
        """The path of the text."""
        return path_text(self._operator.path_parts("sql"))

    @property
    def turned_zone(self) -> str:
        """The name of the time zone of the app, where its clocks are turned; empty if they are not."""
        return self._follower.functions.time_zone.name

    def schema(self, name: str) -> Schema | None:
        """Return the columns of a step, or of a stream or operator that the query reads."""
        return self._follower.schemas.get(name)

    def refuse(self, issue: SqlIssue) -> None:
        """Keep an issue."""
        code = ProblemCode.UNKNOWN_COLUMN if issue.unknown else ProblemCode.SQL_UNSUPPORTED
        self._add(code, located(self.text, issue))

    def refuse_as(self, code: ProblemCode, span: Span, message: str) -> None:
        """Keep an issue that has a code of its own."""
        self._add(code, located(self.text, SqlIssue(span, message)))

    def _add(self, code: ProblemCode, message: str) -> None:
        problem = Problem(path=self.path, code=code, message=message)
        if problem not in self.problems:
            self.problems.append(problem)

    def gather(self, attempt: Callable[[T], R], values: Iterable[T]) -> list[R]:
        """Return what is made of several values; if some can't be, all of their issues are kept first.

        Raises:
            Refused: some can't be.
        """
        results, failed = [], False
        for value in values:
            try:
                results.append(attempt(value))
            except SqlIssue as issue:
                self.refuse(issue)
                failed = True
            except Refused:
                failed = True
        if failed:
            raise Refused
        return results

    def step_name(self, scope: str, step: str) -> str:
        """Return the name of a step in a part of the query, which stays the same while its part does."""
        base = f"{scope}{STEP_SEPARATOR}{re.sub(r'[^a-z0-9]+', '-', step.lower()).strip('-') or 'step'}"
        name, number = _short(base), 1
        while name in self._taken:
            number += 1
            name = _short(f"{base}-{number}")
        self._taken.add(name)
        return name

    def add(
        self, name: str, source: str | Sequence[str], field: str, value: object, places: Mapping[str, Span] | Span
    ) -> Schema:
        """Add a step that reads from another one, and return its columns.

        Args:
            name: of the step.
            source: what it reads.
            field: its kind.
            value: what the field of its kind has.
            places: the place in the text that it is made of; or of each expression that it has.

        Raises:
            Refused: its columns are not known; the issues are kept, as are those of a step whose columns are.
        """
        document = {"name": name, "from": source if isinstance(source, str) else list(source), field: value}
        span = places if isinstance(places, Span) else _around(places.values())
        try:
            spec = OperatorSpec.model_validate_json(json.dumps(document))
        except ValidationError as error:
            for each in error.errors(include_url=False, include_context=False):
                self.refuse(SqlIssue(span, each["msg"].removeprefix("Value error, ")))
            raise Refused from None
        inputs = spec.inputs if spec.join is None else (*spec.inputs, spec.join.with_)
        step = Operator(index=self._operator.index, name=name, kind=spec.kind, spec=spec, inputs=inputs, in_sql=True)
        collector = ProblemCollector()
        schema = self._follower.follow(step, collector)
        if collector.problems:
            self._explain(step, collector.problems, places, span)
        if schema is None:
            raise Refused
        self.steps.append(spec)
        return schema

    def _explain(
        self, step: Operator, problems: Sequence[Problem], places: Mapping[str, Span] | Span, span: Span
    ) -> None:
        """Keep the problems of a step, each at its expression if that alone has it."""
        known = self.schema(step.inputs[0])
        single = {} if isinstance(places, Span) or known is None else places
        explained = False
        for expression, place in single.items():
            issues = ProblemCollector()
            assert known is not None
            self._follower.check_expression(step, expression, known, issues)
            for problem in issues.problems:
                explained = True
                self.refuse_as(problem.code, place, problem.message)
        for problem in () if explained else problems:
            self.refuse_as(problem.code, span, problem.message)


def _around(spans: Iterable[Span]) -> Span:
    every = list(spans)
    return Span(min(span.start for span in every), max(span.end for span in every))


def _short(name: str) -> str:
    """Return a name that is not too long: of a long one the beginning, and a hash of all."""
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASHED]
    return f"{name[: _LONGEST_NAME - _HASHED - 1]}-{digest}"
