"""Comparisons, conditions and choices: = <> < <=> in between like, and or not, case, coalesce, greatest."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial, reduce

from streamapp_core.expressions import nested_values
from streamapp_core.expressions.conversions import converted, implied
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.text_comparisons import remarks_on, remarks_on_list
from streamapp_core.expressions.type_rules import FRACTIONAL, NUMERIC, common_type, comparison_type
from streamapp_core.expressions.typed_sql import NULL, Remark, Value, bound, text
from streamapp_core.schema import BOOLEAN, STRING, TypeKind

_ESCAPE = "\\"
_LONGEST_PATTERN = 1_000
"""Characters of a computed pattern; a longer one matches nothing that is known."""
_ORDERING = frozenset({"<", "<=", ">", ">="})


def comparison(operator: str, left: Value, right: Value) -> Value:
    """Compare two values by `= <> < <= > >=` or the null-safe `<=>`.

    Raises:
        Refusal: Their types can't be compared.
    """
    truth = _of_truth_and_number(operator, left, right)
    if truth is not None:
        return truth
    remarks = remarks_on(operator, left, right)
    left, right = _comparable(left, right)
    if operator == "<=>":
        return Value(BOOLEAN, f"({left.sql} IS NOT DISTINCT FROM {right.sql})", remarks=remarks)
    if operator in _ORDERING:
        sql = f"({nested_values.order_key(left)} {operator} {nested_values.order_key(right)})"
        return Value(BOOLEAN, sql, remarks=remarks)
    return Value(BOOLEAN, f"({left.sql} {operator} {right.sql})", remarks=remarks)


def _of_truth_and_number(operator: str, left: Value, right: Value) -> Value | None:
    """Compare a boolean with a number: 1 is true, 0 is false, all others are neither; None of other types."""
    truth, number = (left, right) if left.kind is TypeKind.BOOLEAN else (right, left)
    if truth.kind is not TypeKind.BOOLEAN or number.kind not in NUMERIC or operator in _ORDERING:
        return None

    def write(t: str, n: str) -> str:
        equal = f"(CASE WHEN {n} = 1 THEN {t} WHEN {n} = 0 THEN NOT {t} ELSE false END)"
        if operator == "<=>":
            return f"CASE WHEN {t} IS NULL OR {n} IS NULL THEN {t} IS NULL AND {n} IS NULL ELSE {equal} END"
        return f"CASE WHEN {t} IS NOT NULL AND {n} IS NOT NULL THEN {'NOT ' if operator == '<>' else ''}{equal} END"

    return Value(BOOLEAN, bound([truth, number], write))


def between(value: Value, low: Value, high: Value) -> Value:
    """Check that a value lies between two others, both included; each side is compared by itself."""
    sides = [comparison(">=", value, low), comparison("<=", value, high)]
    return replace(conjunction("AND", sides), remarks=merged_remarks(sides))


def merged_remarks(values: Iterable[Value]) -> tuple[Remark, ...]:
    """Return the remarks on several values, each once."""
    return tuple(dict.fromkeys(remark for value in values for remark in value.remarks))


def membership(value: Value, choices: Sequence[Value]) -> Value:
    """Check that a value is in a list; a null in the list makes "no" unknown."""
    members = alike([value, *choices], texts=True)
    _check_comparable(members[0])
    listed = ", ".join(member.sql for member in members[1:])
    return Value(BOOLEAN, f"({members[0].sql} IN ({listed}))", remarks=remarks_on_list(choices))


def like(value: Value, pattern: Value, escape: Value | None = None) -> Value:
    """Match a whole text against a pattern of `%` and `_`; a backslash takes them as they are.

    Another character does so in place of the backslash if it is given as `escape`. Of a computed pattern that is
    malformed the result is null.
    """
    sign = escape.literal if escape else _ESCAPE
    if not isinstance(sign, str) or len(sign) != 1 or sign in "%_":
        raise invalid("the escape character of `like` must be a text literal of one character, not % or _")
    if not isinstance(pattern.literal, str):
        return _like_computed(implied(value, STRING), implied(pattern, STRING), sign)
    escaped = False
    for character in pattern.literal:
        if escaped and character not in f"{sign}%_":
            raise invalid(f"in a pattern of `like`, `{sign}` stands before %, _ or itself, not `{character}`")
        escaped = character == sign and not escaped
    if escaped:
        raise invalid(f"a pattern of `like` can't end with `{sign}`")
    sql = f"({implied(value, STRING).sql} LIKE {text(pattern.literal)} ESCAPE {text(sign)})"
    return Value(BOOLEAN, sql)


def _like_computed(value: Value, pattern: Value, sign: str) -> Value:
    """Match by a regular expression: DuckDB's own `like` may take very long with a pattern that is no literal."""
    mark = rf"\x{{{ord(sign):x}}}"
    made = "CASE __t WHEN '%' THEN '(?s:.*)' WHEN '_' THEN '(?s:.)' ELSE regexp_escape(right(__t, 1)) END"

    def write(v: str, p: str) -> str:
        tokens = f"regexp_extract_all({p}, '(?s:{mark}.|.)')"
        regex = f"array_to_string(list_transform({tokens}, lambda __t: {made}), '')"
        sound = f"regexp_full_match({p}, '(?s:{mark}[%_{mark}]|[^{mark}])*')"
        return f"CASE WHEN {sound} AND length({p}) <= {_LONGEST_PATTERN} THEN regexp_full_match({v}, {regex}) END"

    return Value(BOOLEAN, bound([value, pattern], write))


def condition(value: Value) -> Value:
    """Return a value as a condition.

    Raises:
        Refusal: It is not boolean.
    """
    if value.kind not in (None, TypeKind.BOOLEAN):
        raise Refusal(f"expected a condition (boolean), got {value.type}")
    return converted(value, BOOLEAN)


def conjunction(operator: str, conditions: Sequence[Value]) -> Value:
    """Join conditions by AND or OR."""
    joined = f" {operator} ".join(condition(value).sql for value in conditions)
    return Value(BOOLEAN, f"({joined})")


def negation(value: Value) -> Value:
    """Turn a condition around."""
    return Value(BOOLEAN, f"(NOT {condition(value).sql})")


def is_true_or_false(expected: bool, value: Value) -> Value:
    """Compare a condition with true or false; the answer is never null."""
    return Value(BOOLEAN, f"({condition(value).sql} IS NOT DISTINCT FROM {str(expected).lower()})")


def is_null(value: Value) -> Value:
    """Check for null; the answer is never null."""
    return Value(BOOLEAN, f"({value.sql} IS NULL)")


def alike(values: Sequence[Value], *, texts: bool) -> list[Value]:
    """Convert values to their common type; bare nulls stay bare if all are.

    Raises:
        Refusal: They have none.
    """
    target = common_type([value.type for value in values], texts=texts)
    return [converted(value, target) if target else value for value in values]


def case(branches: Sequence[tuple[Value, Value]], default: Value | None) -> Value:
    """Choose the value of the first condition that holds, else `default` (null without one)."""
    values = alike([value for _, value in branches] + [default or NULL], texts=True)
    whens = " ".join(
        f"WHEN {condition(when).sql} THEN {value.sql}" for (when, _), value in zip(branches, values[:-1], strict=True)
    )
    return Value(values[-1].type, f"CASE {whens} ELSE {values[-1].sql} END")


def coalesce(values: Sequence[Value]) -> Value:
    """Return the first value that is not null."""
    members = alike(values, texts=True)
    return Value(members[0].type, f"coalesce({', '.join(member.sql for member in members)})")


def extreme(function: str, values: Sequence[Value]) -> Value:
    """Return the `greatest` or `least` value, leaving out nulls; NaN is the greatest number."""
    members = alike(values, texts=False)
    data_type = members[0].type
    _check_comparable(members[0])
    if data_type and (data_type.nested or data_type.kind in FRACTIONAL):
        return reduce(_GREATER if function == "greatest" else _LESS, members)
    return Value(data_type, f"{function}({', '.join(member.sql for member in members)})")


def _first_extreme(operator: str, left: Value, right: Value) -> Value:
    """Return one of two values, of equal ones the first.

    DuckDB's own functions turn -0.0 into 0.0, and sort nulls in nested values last.
    """

    def write(a: str, b: str) -> str:
        key, other = (nested_values.order_key(Value(left.type, sql, simple=True)) for sql in (a, b))
        return f"CASE WHEN {a} IS NULL OR {other} {operator} {key} THEN {b} ELSE {a} END"

    return Value(left.type, bound([left, right], write))


_GREATER = partial(_first_extreme, ">")
_LESS = partial(_first_extreme, "<")


def _check_comparable(value: Value) -> None:
    if value.type:
        comparison_type(value.type, value.type)


def _comparable(left: Value, right: Value) -> tuple[Value, Value]:
    if left.type is None or right.type is None:
        target = left.type or right.type or BOOLEAN
        return converted(left, target), converted(right, target)
    target = comparison_type(left.type, right.type)
    return converted(left, target), converted(right, target)
