"""Problems, collected on the way through the graph; an expression that occurs in several plans is checked once."""

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import TypeVar, cast

from streamapp_core.expressions import ExpressionError
from streamapp_core.problems import PathPart, Problem, ProblemCode, path_text
from streamapp_core.schema import Schema, SchemaError, parse_schema

T = TypeVar("T")
_KEPT = 500
"""Results of checks that are kept, each of up to 80 kB: an app is planned often, by its driver and processors."""


class ProblemCollector:
    """The problems found so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, path: str, code: ProblemCode, message: str) -> None:
        """Add a problem."""
        self.problems.append(Problem(path=path, code=code, message=message))

    def compile(self, check: Callable[..., T], path: Sequence[PathPart], *arguments: Hashable) -> T | None:
        """Call a checker of `expressions`; if it refuses, add its issues at `path` and return None."""
        result = _checked(check, arguments)
        if isinstance(result, ExpressionError):
            for issue in result.issues:
                self.add(path_text(path), issue.code, issue.message)
            return None
        return cast("T", result)

    def parse(self, path: str, text: str) -> Schema | None:
        """Parse a schema; if that fails, add the problem at `path` and return None."""
        try:
            return parse_schema(text)
        except SchemaError as error:
            self.add(path, ProblemCode.INVALID_SPEC, str(error))
            return None


@lru_cache(maxsize=_KEPT)
def _checked(check: Callable[..., object], arguments: tuple[Hashable, ...]) -> object:
    """Return the result of a check, which depends on its arguments alone, or its refusal without the way to it."""
    try:
        return check(*arguments)
    except ExpressionError as error:
        return error.with_traceback(None)
