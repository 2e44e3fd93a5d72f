"""Problems, collected on the way through the graph; an expression that occurs several times is checked once."""

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from streamapp_core.expressions import ExpressionError
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.schema import Schema, SchemaError, parse_schema

T = TypeVar("T")


class ProblemCollector:
    """The problems found so far, and the results of checks by their arguments."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._results: dict[Hashable, object] = {}

    def add(self, path: str, code: ProblemCode, message: str) -> None:
        """Add a problem."""
        self.problems.append(Problem(path=path, code=code, message=message))

    def compile(self, check: Callable[..., T], path: str, *arguments: Hashable) -> T | None:
        """Call a checker of `expressions`; if it refuses, add its issues at `path` and return None."""
        result = self._results.get((check, arguments))
        if result is None:
            try:
                result = check(*arguments)
            except ExpressionError as error:
                result = error
            self._results[check, arguments] = result
        if isinstance(result, ExpressionError):
            for issue in result.issues:
                self.add(path, issue.code, issue.message)
            return None
        return cast("T", result)

    def parse(self, path: str, text: str) -> Schema | None:
        """Parse a schema; if that fails, add the problem at `path` and return None."""
        try:
            return parse_schema(text)
        except SchemaError as error:
            self.add(path, ProblemCode.INVALID_SPEC, str(error))
            return None
