"""Conditions, select lists and lists with one generator: what filter, map and flatMap hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from streamapp_core.expressions.checker import Checker
from streamapp_core.expressions.comparisons import condition
from streamapp_core.expressions.earlier_names import EarlierNames
from streamapp_core.expressions.expression_issues import ExpressionError, ExpressionIssue, Refusal, invalid
from streamapp_core.expressions.functions import GENERATOR_NAMES
from streamapp_core.expressions.generators import generated
from streamapp_core.expressions.interval_values import check_held
from streamapp_core.expressions.named_arguments import by_position
from streamapp_core.expressions.parsing import (
    columns_without,
    output_name,
    output_names,
    parse_items,
    struct_of_star,
)
from streamapp_core.expressions.session_zone import in_zone
from streamapp_core.expressions.typed_sql import Remark, Value
from streamapp_core.expressions.user_functions import NO_FUNCTIONS, UserFunctions
from streamapp_core.schema import (
    VOID,
    Column,
    DataType,
    Schema,
    SchemaError,
    TypeKind,
    check_column_name,
)

_LONG_LIST = 5
"""Of so many items the messages say which one is meant."""


@dataclass(frozen=True, slots=True)
class Condition:
    """DuckDB SQL of a boolean; a row passes where it is true."""

    sql: str
    remarks: tuple[Remark, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectColumn:
    """One column of a result: its DuckDB SQL over the input's columns.

    `source_column` is the input column whose values these are, unchanged; None if they are computed. The SQL of a
    `generated` column is a list: each of its elements is the value of another row.
    """

    name: str
    type: DataType
    sql: str
    source_column: str | None = None
    generated: bool = False


@dataclass(frozen=True)
class Select:
    """The columns of a result, in order; their names differ by more than case."""

    columns: tuple[SelectColumn, ...]
    remarks: tuple[Remark, ...] = field(default=(), compare=False)

    @cached_property
    def schema(self) -> Schema:
        """The names and types of the result."""
        return Schema(tuple(Column(column.name, column.type) for column in self.columns))


def check_condition(text: str, schema: Schema, functions: UserFunctions = NO_FUNCTIONS) -> Condition:
    """Check a condition over the columns of `schema`; it may call functions of the app.

    Raises:
        ExpressionError: It does not parse, or is no condition; all issues at once.
    """
    items = parse_items(text)
    checker = Checker(schema, functions=functions)
    if len(items) > 1 or isinstance(items[0], exp.Alias):
        raise ExpressionError((invalid("expected one condition, without commas or names").issue,))
    value = checker.check(items[0])
    if value:
        try:
            value = condition(value)
        except Refusal as refusal:
            checker.issues.append(refusal.issue)
    if value is None or checker.issues:
        raise ExpressionError(tuple(checker.issues))
    return Condition(guarded(value), tuple(checker.remarks))


def check_select(text: str, schema: Schema, functions: UserFunctions = NO_FUNCTIONS) -> Select:
    """Check a select list, as in `k, v1 as n, upper(c) as u, *`.

    Raises:
        ExpressionError: An item is wrong, or a name is missing, taken or reserved; all issues at once.
    """
    return _check_list(text, schema, functions, generator=False)


def check_flat_map(text: str, schema: Schema, functions: UserFunctions = NO_FUNCTIONS) -> Select:
    """Check a select list with exactly one generator, such as `explode(array) as name`, which makes many rows of one.

    Raises:
        ExpressionError: As `check_select`; or there is no generator, or more than one.
    """
    return _check_list(text, schema, functions, generator=True)


def guarded(value: Value) -> str:
    """Return SQL that is null where computing it fails: no row may stop an app."""
    return value.sql if value.simple else f"TRY({value.sql})"


def check_name(name: str | None, position: int, taken: set[str]) -> str:
    """Check the name of the output column at a position, from 1, and add it to those that are taken, in lower case.

    Raises:
        Refusal: It is missing, taken or reserved.
    """
    if name is None:
        raise invalid(f"item {position} of the list is no plain column and needs a name: ... as name")
    try:
        check_column_name(name)
    except SchemaError as error:
        raise invalid(str(error)) from None
    if name.lower() in taken:
        raise invalid(f"two columns would be named `{name}`; give one another name with `as`")
    taken.add(name.lower())
    return name


def _check_list(text: str, schema: Schema, functions: UserFunctions, *, generator: bool) -> Select:
    builder = _ListBuilder(schema, functions)
    items = parse_items(text)
    for number, item in enumerate(items, 1):
        known = len(builder.checker.issues)
        builder.add(item, generator=generator)
        if len(items) >= _LONG_LIST:
            builder.numbered.update(dict.fromkeys(builder.checker.issues[known:], number))
    if generator and builder.generators != 1:
        builder.refuse(invalid(f"expected one generator, as in explode(array) as name, got {builder.generators}"))
    if builder.checker.issues or builder.checker.incomplete:
        raise ExpressionError(tuple(_numbered(issue, builder.numbered) for issue in builder.checker.issues))
    return Select(tuple(builder.columns), tuple(builder.checker.remarks))


def _numbered(issue: ExpressionIssue, numbered: Mapping[ExpressionIssue, int]) -> ExpressionIssue:
    """Return an issue with the number of the item that has it first."""
    number = numbered.get(issue)
    if number is None or issue.message.startswith(f"item {number} "):
        return issue
    return replace(issue, message=f"item {number}: {issue.message}")


class _ListBuilder:
    def __init__(self, schema: Schema, functions: UserFunctions) -> None:
        self.checker = Checker(schema, functions=functions)
        self.columns: list[SelectColumn] = []
        self.generators = 0
        self.numbered: dict[ExpressionIssue, int] = {}
        self._schema = schema
        self._functions = functions
        self._position = 0
        self._taken: set[str] = set()
        self._earlier = EarlierNames(schema)

    def refuse(self, refusal: Refusal) -> None:
        self.checker.issues.append(refusal.issue)

    def add(self, item: exp.Expr, *, generator: bool) -> None:
        self._position += 1
        try:
            item = self._earlier.resolved(item)
        except Refusal as refusal:
            self.refuse(refusal)
            return
        if columns_without(item) is not None or struct_of_star(item) is not None:
            self._add_all(item)
            return
        names, call = output_names(item)
        if generator and isinstance(call, exp.Anonymous) and str(call.this).lower() in GENERATOR_NAMES:
            self._generated(names, call)
            return
        name, node = output_name(item)
        self._earlier.add(item)
        self._add(name, self.checker.check(node))

    def _add_all(self, item: exp.Expr) -> None:
        """Add the columns that `*` means, or the fields of a struct."""
        try:
            nodes = self.checker.spread([item])
        except Refusal as refusal:
            self.refuse(refusal)
            return
        for node in nodes:
            name, _ = output_name(node)
            self._add(name, self.checker.check(node))

    def _add(self, name: str | None, value: Value | None, *, generated: bool = False) -> None:
        if value is not None and value.type is None:
            self.refuse(invalid(f"`{name}` is null without a type: write cast(null as string)"))
            return
        if value is not None and value.type and TypeKind.VOID in value.type.kinds:
            self.refuse(
                invalid(f"`{name}` is {value.type}, with nulls without a type: write cast(... as array<string>)")
            )
            return
        self._column(name, value, value.column if value else None, generated=generated)

    def _column(self, name: str | None, value: Value | None, source: str | None, *, generated: bool = False) -> None:
        try:
            name = check_name(name, self._position, self._taken)
            if value and value.type:
                check_held(value.type, f"`{name}`")
        except Refusal as refusal:
            self.refuse(refusal)
            return
        if value and value.type:
            sql = guarded(value)
            self.columns.append(
                SelectColumn(name=name, type=value.type, sql=sql, source_column=source, generated=generated)
            )

    def _generated(self, names: tuple[str, ...], node: exp.Anonymous) -> None:
        self.generators += 1
        name = str(node.this).lower()
        arguments = [self.checker.check(argument) for argument in by_position(name, node.expressions)]
        if any(argument is None for argument in arguments):
            return
        try:
            with in_zone(self._functions.time_zone):
                columns = generated(name, [argument for argument in arguments if argument is not None])
            if names and len(names) != len(columns):
                raise invalid(f"{name} makes {len(columns)} columns here, and has {len(names)} names")
        except Refusal as refusal:
            self.refuse(refusal)
            return
        for (given, values), chosen in zip(columns, names or [None] * len(columns), strict=True):
            # DuckDB allows no TRY around unnest: the list is given as guarded already.
            element = values.type.element if values.type else VOID
            self._add(chosen or given, Value(element, guarded(values), simple=True), generated=True)
