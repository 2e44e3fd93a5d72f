"""The check of an expression, bottom-up, against the columns it may use; it is written as DuckDB SQL.

Each refused part becomes an issue, and the check continues with the others, so that all issues of a text come at once.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from sqlglot import exp

from streamapp_core.expressions import nested_values
from streamapp_core.expressions.aggregate_calls import (
    JOINING,
    AggregateCall,
    aggregate_call,
    aggregate_name,
    joins_collected,
)
from streamapp_core.expressions.expression_issues import ExpressionIssue, Refusal, invalid
from streamapp_core.expressions.functions import AGGREGATE_NAMES, BY_NAME, GENERATOR_NAMES, WITH_UNIT
from streamapp_core.expressions.functions.lambdas import LAMBDAS_BY_NAME, LambdaFunction
from streamapp_core.expressions.growth import MAX_ELEMENTS, size, varies
from streamapp_core.expressions.interval_aggregates import is_of_interval
from streamapp_core.expressions.interval_values import check_held
from streamapp_core.expressions.missing_functions import INSTEAD
from streamapp_core.expressions.named_arguments import by_position
from streamapp_core.expressions.node_kinds import FORMS, unsupported
from streamapp_core.expressions.parsing import columns_without, field_name, struct_of_star
from streamapp_core.expressions.session_zone import in_zone
from streamapp_core.expressions.times_of_day import has_time_of_day, moment_of_day
from streamapp_core.expressions.typed_sql import Remark, Value, quoted
from streamapp_core.expressions.user_functions import NO_FUNCTIONS, UserFunctions
from streamapp_core.near_names import did_you_mean
from streamapp_core.problems import ProblemCode
from streamapp_core.schema import Schema, SchemaError, TypeKind

MAX_SQL_LENGTH = 60_000
MAX_ISSUES = 10
"""The most issues of one text: what is wrong with the rest is found when these are mended."""
_QUALIFIED = ("catalog", "db", "table", "this")
"""The parts of a name with points, as the parser calls them."""
_CHANGING = frozenset({"current_date", "curdate", "current_timestamp", "now", "current_time", "localtimestamp"})
"""Spark's functions of the present time."""
_RANDOM = frozenset({"rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id"})
"""The way to say it here, of functions that users of Spark and of other databases look for."""


class AggregateWriter(Protocol):
    """A callback for the aggregates of an expression, which returns the value in place of each result."""

    def __call__(self, call: AggregateCall, arguments: Sequence[Value], condition: Value | None) -> Value:
        """Return the value of one aggregate of these arguments: its own, then that of `within group`.

        `condition` is that of a filter. `count(*)` has no arguments.
        """
        ...


class _LeftOut(Exception):  # noqa: N818 - what happened
    """A part calls a function that is not known: nothing is said of it."""


class Checker:
    """The checker of the expressions of one text, with their first issues.

    Args:
        schema: The columns of a row.
        aggregates: Called for aggregates; None where they are not allowed.
        grouped: With aggregates: the columns (lower case) that may stand outside of them.
        functions: Those of the app.
    """

    def __init__(
        self,
        schema: Schema,
        aggregates: AggregateWriter | None = None,
        grouped: Mapping[str, Value] | None = None,
        functions: UserFunctions = NO_FUNCTIONS,
    ) -> None:
        self.issues: list[ExpressionIssue] = []
        self.remarks: dict[Remark, None] = {}
        """What is allowed and rarely wanted, each once."""
        self.incomplete = False
        """Whether a call was left out because its function is not known."""
        self._schema = schema
        self._aggregates = aggregates
        self._grouped = grouped
        self._functions = functions
        self._inside_aggregate = False
        self._variables: dict[str, Value] = {}
        self._costs: list[tuple[str, str]] = []
        self._lambdas = 0

    def check(self, node: exp.Expr) -> Value | None:
        """Check one expression; None if it has issues, which are then in `issues`, or is `incomplete`."""
        try:
            with in_zone(self._functions.time_zone):
                return self.node(node)
        except RecursionError:
            self.refuse(invalid("it is nested too deeply; split it into several steps"))
            return None

    def refuse(self, refusal: Refusal) -> None:
        """Keep an issue, once."""
        if refusal.issue not in self.issues:
            self.issues.append(refusal.issue)

    def node(self, node: exp.Expr) -> Value | None:
        """Check one node; None if it has issues, or the text has so many that no further ones are looked for."""
        if len(self.issues) >= MAX_ISSUES:
            return None
        form = FORMS.get(type(node))
        try:
            if form is None or any(part for name, part in node.args.items() if name not in form.parts):
                raise invalid(unsupported(node))
            taken = len(self._costs)
            value = form.check(self, node)
            if value is not None and value.simple and isinstance(node, exp.Column | exp.Dot | exp.Identifier):
                del self._costs[taken:]  # of a struct, one field counts
                self._cost(value)
        except _LeftOut:
            self.incomplete = True
            return None
        except Refusal as refusal:
            self.refuse(refusal)
            return None
        except SchemaError as error:
            self.refuse(invalid(str(error)))
            return None
        else:
            return value

    def _cost(self, value: Value) -> None:
        if varies(value.type):
            self._costs.append((value.sql, size(value)))

    def parts(self, write: Callable[..., Value], *nodes: exp.Expr) -> Value | None:
        """Check all parts of a node, then write it over their values; None if one has issues."""
        values = [self.node(node) for node in nodes]
        sound = [value for value in values if value is not None]
        if len(sound) < len(values):
            return None
        result = write(*sound)
        self.remarks |= dict.fromkeys(result.remarks)
        if len(result.sql) > MAX_SQL_LENGTH:
            raise invalid("it is too complex; split it into several steps")
        return result

    def column(self, node: exp.Expr) -> Value:
        """Find a column, or a field in one (`a.b.c`); outside of aggregates it must be grouped by."""
        identifiers = [node.args[name] for name in _QUALIFIED if node.args.get(name)]
        if not all(isinstance(identifier, exp.Identifier) for identifier in identifiers):
            raise invalid(
                "`*` stands alone, among the arguments of a function, or behind a struct (`a.*`); a field is `a.b`"
            )
        if len(identifiers) > 1 and not self._schema.get(identifiers[0].this) and self._schema.get(identifiers[1].this):
            raise invalid(f"write column `{identifiers[1].this}` by its name alone: before a point stands a column too")
        value = self._column(identifiers[0].this)
        self._cost(value)
        for identifier in identifiers[1:]:
            value = nested_values.field(value, identifier.this)
        return value

    def _column(self, name: str) -> Value:
        column = self._schema.get(name)
        if column is None and name.lower() in _CHANGING:
            raise invalid(_changing(name))
        if column is None:
            raise Refusal(_unknown_column(name, self._schema), ProblemCode.UNKNOWN_COLUMN)
        if self._grouped is not None and not self._inside_aggregate:
            value = self._grouped.get(name.lower())
            if value is None:
                raise invalid(
                    f"column `{column.name}` is neither in `by` nor inside an aggregate such as max({column.name})"
                )
            return value
        return Value(column.type, quoted(column.name), simple=True, column=column.name)

    def call(self, node: exp.Expr) -> Value | None:
        """Check a call of a function of the table, or of an aggregate."""
        name = str(node.this).lower()
        if name in AGGREGATE_NAMES or (name == JOINING and joins_collected(node)):
            return self.aggregate(node)
        nodes = self.spread(node.expressions)
        if name == "struct":
            return self.struct(nodes)
        lambdas = any(isinstance(argument, exp.Lambda) for argument in node.expressions)
        if name in LAMBDAS_BY_NAME and (lambdas or name not in BY_NAME):
            return self._with_lambdas(LAMBDAS_BY_NAME[name], nodes)
        arguments = by_position(name, nodes)
        if name in WITH_UNIT and len(arguments) == 3:  # noqa: PLR2004 - a unit, then two values
            name, arguments[0] = WITH_UNIT[name], _unit(arguments[0])
        if has_time_of_day(name, arguments):
            return self.parts(
                lambda day, *zone: moment_of_day(name, arguments[1], day, zone), arguments[0], *arguments[2:]
            )
        if name in self._functions.unknown:
            raise _LeftOut
        function = BY_NAME.get(name) or self._functions.find(name)
        if function is None:
            raise invalid(_unknown_function(name, self._functions))
        if made := _made(name, arguments):
            self._costs.append(("", str(made)))
        if name == "arrays_zip":
            names = [field_name(argument)[0] for argument in arguments]
            return self.parts(lambda *values: function.call(list(map(_with_name, values, names))), *arguments)
        return self.parts(lambda *values: function.call(values), *arguments)

    def spread(self, nodes: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Return expressions with the columns in place of `*`, and the fields of a struct in place of `a.*`.

        Raises:
            Refusal: What stands before `.*` is no struct.
        """
        return [one for node in nodes for one in self._spread(node)]

    def _spread(self, node: exp.Expr) -> list[exp.Expr]:
        left_out = columns_without(node)
        if left_out is not None:
            if unknown := [name for name in left_out if self._schema.get(name) is None]:
                raise Refusal(_unknown_column(unknown[0], self._schema), ProblemCode.UNKNOWN_COLUMN)
            taken = {name.lower() for name in left_out}
            return [_plain_column(name) for name in self._schema.names if name.lower() not in taken]
        whole = struct_of_star(node)
        if whole is None:
            return [node]
        known = len(self._costs)
        value = self.node(whole)
        del self._costs[known:]
        if value is None or value.type is None:
            return []
        if value.type.kind is not TypeKind.STRUCT:
            raise invalid(f"`.*` takes the fields of a struct, got {value.type}")
        names = (exp.to_identifier(field.name, quoted=True) for field in value.type.fields)
        return [exp.Dot(this=whole.copy(), expression=name) for name in names]

    def variable(self, node: exp.Expr) -> Value:
        """Find a variable of a lambda."""
        value = self._variables.get(str(node.this))
        if value is None:
            raise invalid(f"`{str(node.this)[:80]}` is no variable of a lambda around it")
        return value

    def body(self, node: exp.Expr, variables: Mapping[str, Value], scope: str) -> tuple[Value, Sequence[str]]:
        """Check the body of a lambda over its variables; return it with the costs of each element (see `Lambda`).

        Raises:
            Refusal: It has issues.
        """
        outer, taken = self._variables, len(self._costs)
        self._variables = {**outer, **variables}
        try:
            value = self.node(node)
        finally:
            self._variables = outer
        if value is None:
            if not self.issues:
                raise _LeftOut
            raise Refusal(self.issues[-1].message, self.issues[-1].code)
        self._costs[taken:] = [cost for cost in dict.fromkeys(self._costs[taken:]) if scope not in cost[0]]
        return value, [sql for _, sql in self._costs[taken:]]

    def _with_lambdas(self, function: LambdaFunction, nodes: Sequence[exp.Expr]) -> Value | None:
        places = [place for place, node in enumerate(nodes) if isinstance(node, exp.Lambda)]
        least = len(function.line.parameters) - function.line.optional
        if tuple(places) != function.lambdas[: len(places)] or not least <= len(nodes) <= len(function.line.parameters):
            raise invalid(f"{function.name} is called as {function.line.usage}")
        arguments: list[Value | _CheckedLambda | None] = []
        for node in nodes:
            if isinstance(node, exp.Lambda):
                self._lambdas += 1
                arguments.append(_CheckedLambda(self, node, f"__l{self._lambdas}_"))
            else:
                arguments.append(self.node(node))
        if any(argument is None for argument in arguments):
            return None
        result = function.line.write(*arguments)
        if len(result.sql) > MAX_SQL_LENGTH:
            raise invalid("it is too complex; split it into several steps")
        return result

    def struct(self, items: Sequence[exp.Expr]) -> Value | None:
        """Check a struct of items, which have the names of columns, or `col1`, `col2`."""
        named = [field_name(item) for item in items]
        names = [f"col{position}" if name is None else name for position, (name, _) in enumerate(named, 1)]
        return self.parts(
            lambda *values: nested_values.struct(list(zip(names, values, strict=True))), *(node for _, node in named)
        )

    def aggregate(self, node: exp.Expr) -> Value | None:
        """Check an aggregate, with its filter, its order and what it says of nulls."""
        name, writer = aggregate_name(node), self._aggregates
        if name not in AGGREGATE_NAMES | {JOINING}:
            raise invalid("filter, `ignore nulls` and `within group` stand behind an aggregate only")
        if writer is None:
            raise invalid(f"aggregate {name}(...) stands in `window` and `aggregate` only")
        if self._inside_aggregate:
            raise invalid(f"aggregate {name}(...) stands inside another aggregate")
        call = aggregate_call(node)
        ordered = [call.ordering.value] if call.ordering else []
        conditions = [call.condition] if call.condition else []

        def write(*values: Value) -> Value:
            taken = values[len(conditions) :]
            for value in taken:
                if value.type and not is_of_interval(call, taken):
                    check_held(value.type, f"what {name}(...) takes")
            return writer(call, taken, values[0] if conditions else None)

        self._inside_aggregate = True
        try:
            return self.parts(write, *conditions, *call.arguments, *ordered)
        finally:
            self._inside_aggregate = False


def _made(name: str, arguments: Sequence[exp.Expr]) -> int:
    """Return how much a call makes that does not come from its row; 0 if little."""
    if name in ("sequence", "array_repeat"):
        return MAX_ELEMENTS
    if name in ("repeat", "lpad", "rpad", "space") and arguments:
        length = arguments[0 if name == "space" else 1 % len(arguments)]
        return int(length.this) if isinstance(length, exp.Literal) and str(length.this).isdecimal() else 0
    return 0


def _with_name(value: Value, name: str | None) -> Value:
    return replace(value, column=name)


def _plain_column(name: str) -> exp.Expr:
    return exp.Column(this=exp.to_identifier(name, quoted=True))


def _unit(node: exp.Expr) -> exp.Expr:
    """Return the bare name of a unit as a literal."""
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        raise invalid("the first of three arguments is a unit without quotes, as in dateadd(month, 1, day)")
    return exp.Literal.string(node.name)


class _CheckedLambda:
    """A lambda, checked as soon as the function that takes it knows the types of its variables."""

    def __init__(self, checker: Checker, node: exp.Lambda, scope: str) -> None:
        self.scope = scope
        self.size = len(node.expressions)
        self.costs: Sequence[str] = ()
        self._checker = checker
        self._node = node

    def over(self, *variables: Value) -> Value:
        names = [str(name.this) for name in self._node.expressions]
        if len(names) != len(variables):
            raise invalid(f"this lambda takes {len(variables)} variables, not {len(names)}")
        value, self.costs = self._checker.body(self._node.this, dict(zip(names, variables, strict=True)), self.scope)
        return value


def _unknown_column(name: str, schema: Schema) -> str:
    names = schema.names
    guess = did_you_mean(name, names) or ";"
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")  # noqa: PLR2004
    return f"unknown column `{name[:80]}`{guess} columns: {listed}"


def _changing(name: str) -> str:
    return (
        f"{name} would give another result when the same rows are read again; "
        "use the event time: a column of the row, or the end of the window"
    )


def _unknown_function(name: str, functions: UserFunctions) -> str:
    if name in _CHANGING:
        return _changing(name)
    if name in _RANDOM:
        return f"{name} would give another result when the same rows are read again; use columns of the row"
    if name in INSTEAD:
        return f"there is no function {name}; use {INSTEAD[name]}"
    if name in GENERATOR_NAMES:
        return f"{name}(...) stands in `flatMap` only, by itself: {name}(...) as name"
    close = difflib.get_close_matches(name[:80], [*_NAMES, *(one.name for one in functions.signatures)], n=1)
    guess = f"; did you mean {close[0]}?" if close else ""
    return f"there is no function {name[:80]}{guess} (docs/expressions.md lists them)"


_NAMES = sorted({*BY_NAME, *LAMBDAS_BY_NAME, *AGGREGATE_NAMES})
KNOWN_FUNCTIONS = frozenset({*_NAMES, *GENERATOR_NAMES, *WITH_UNIT, *_CHANGING, *_RANDOM, JOINING, "struct"})
"""The names, in lower case, that have a meaning in expressions."""
