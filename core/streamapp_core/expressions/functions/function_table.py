"""The form of one line of the table of functions, and how a call is checked against it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from streamapp_core.expressions.comparisons import condition
from streamapp_core.expressions.conversions import implied, number
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.typed_sql import Value
from streamapp_core.schema import BIGINT, BINARY, DATE, DOUBLE, INT, STRING, TIMESTAMP, DataType


class Accepts(Enum):
    """The types that a parameter accepts; values of other types are cast where Spark casts them by itself."""

    TEXT = "string"
    TEXT_OR_BINARY = "string or binary"
    WHOLE = "int"
    BIGINT = "bigint"
    NUMBER = "number"
    DOUBLE = "double"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"
    CONDITION = "boolean"
    ANY = "any type"
    TEXT_LITERAL = "string literal"
    WHOLE_LITERAL = "int literal"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a function: its name in the docs and what it takes."""

    name: str
    accepts: Accepts


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function that expressions may call.

    `write` gets the arguments, cast to what the parameters accept, and gives the typed DuckDB SQL. The last
    `optional` parameters may be left out; with `repeated` the last one may be given again and again.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: str
    doc: str
    write: Callable[..., Value]
    aliases: tuple[str, ...] = ()
    optional: int = 0
    repeated: bool = False

    @property
    def usage(self) -> str:
        """The form of a call, for docs and messages: `substring(text, position[, length])`."""
        required = len(self.parameters) - self.optional
        names = [parameter.name for parameter in self.parameters]
        usage = ", ".join(names[:required])
        for name in names[required:]:
            usage += f"[, {name}]" if usage else f"[{name}]"
        return f"{self.name}({usage}{', ...' if self.repeated else ''})"

    def call(self, arguments: Sequence[Value]) -> Value:
        """Check the arguments of a call and write it.

        Raises:
            Refusal: Their number or types are wrong.
        """
        most = None if self.repeated else len(self.parameters)
        if len(arguments) < len(self.parameters) - self.optional or (most is not None and len(arguments) > most):
            raise invalid(f"{self.name} takes other arguments than these {len(arguments)}: {self.usage}")
        last = len(self.parameters) - 1
        taken = [_taken(self, self.parameters[min(index, last)], argument) for index, argument in enumerate(arguments)]
        return self.write(*taken)


_TYPES: dict[Accepts, DataType] = {
    Accepts.TEXT: STRING,
    Accepts.WHOLE: INT,
    Accepts.BIGINT: BIGINT,
    Accepts.DOUBLE: DOUBLE,
    Accepts.BINARY: BINARY,
    Accepts.DATE: DATE,
    Accepts.TIMESTAMP: TIMESTAMP,
}


def _taken(function: Function, parameter: Parameter, value: Value) -> Value:
    accepts = parameter.accepts
    try:
        if accepts is Accepts.TEXT_OR_BINARY:
            return value if value.type == BINARY else implied(value, STRING)
        if accepts in _TYPES:
            return implied(value, _TYPES[accepts])
        if accepts is Accepts.NUMBER:
            return number(value)
        if accepts is Accepts.CONDITION:
            return condition(value)
    except Refusal as refusal:
        message = f"{parameter.name} of {function.usage}: {refusal.issue.message}"
        raise Refusal(message, refusal.issue.code) from None
    literal = {Accepts.TEXT_LITERAL: str, Accepts.WHOLE_LITERAL: int}.get(accepts)
    if literal and (not isinstance(value.literal, literal) or isinstance(value.literal, bool)):
        raise invalid(f"{parameter.name} of {function.usage} must be a literal, not computed: a {accepts.value}")
    if isinstance(value.literal, int) and literal is int and not -(2**31) <= value.literal < 2**31:
        raise invalid(f"{parameter.name} of {function.usage} is no int: {value.literal}")
    return value


def fixed(result: DataType, template: str) -> Callable[..., Value]:
    """Return the `write` of a function with one result type: `template` names the arguments `{0}`, `{1}`."""
    return lambda *arguments: Value(result, template.format(*(argument.sql for argument in arguments)))
