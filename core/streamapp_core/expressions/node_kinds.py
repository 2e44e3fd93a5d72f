"""The kinds of nodes that an expression may have, and how each is checked; every other kind is refused."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol

from sqlglot import exp

from streamapp_core.expressions import arithmetic, comparisons, nested_values, time_arithmetic
from streamapp_core.expressions.aggregate_calls import AGGREGATE_FORMS
from streamapp_core.expressions.conversions import converted, implied
from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions import BY_NAME
from streamapp_core.expressions.functions.bits import combined, inverted, shifted
from streamapp_core.expressions.functions.calculations import integral_quotient
from streamapp_core.expressions.functions.date_parts import part
from streamapp_core.expressions.functions.interval_functions import moved_by_amounts
from streamapp_core.expressions.functions.strings import concatenation, matches
from streamapp_core.expressions.functions.text_parts import like_whatever_case, trimmed
from streamapp_core.expressions.interval_literals import interval_literal
from streamapp_core.expressions.literals import cast_target, check_moment, literal, number, suffixed
from streamapp_core.expressions.tried_casts import tried
from streamapp_core.expressions.typed_sql import Value, text
from streamapp_core.schema import BINARY, STRING


class NodeChecker(Protocol):
    """The checker of a whole expression, as the check of one kind of node uses it for the node's parts."""

    def node(self, node: exp.Expr) -> Value | None:
        """Check a node below; None if it has issues."""
        ...

    def parts(self, write: Callable[..., Value], *nodes: exp.Expr) -> Value | None:
        """Check nodes below, then write the node over their values; None if one has issues."""
        ...

    def column(self, node: exp.Expr) -> Value:
        """Check a column."""
        ...

    def variable(self, node: exp.Expr) -> Value:
        """Check a variable of a lambda."""
        ...

    def call(self, node: exp.Expr) -> Value | None:
        """Check a call of a function."""
        ...

    def struct(self, items: Sequence[exp.Expr]) -> Value | None:
        """Check a struct of items, which have the names of columns, or others."""
        ...

    def aggregate(self, node: exp.Expr) -> Value | None:
        """Check an aggregate."""
        ...


Check = Callable[[NodeChecker, exp.Expr], Value | None]


class Form(NamedTuple):
    """A kind of node that is allowed: the parts it may have (with any other it is refused), and its check."""

    parts: frozenset[str]
    check: Check


def unsupported(node: exp.Expr) -> str:
    """Return the message that a kind of node is refused, with an alternative if there is one."""
    hint = _HINTS.get(type(node))
    return hint or f"{type(node).__name__.lower()} is not supported here (docs/expressions.md lists what is)"


def _sum(checker: NodeChecker, node: exp.Expr) -> Value | None:
    """Check a sum or difference; one side may be `make_interval(...)`, whose months and days are no one value."""
    operator = "+" if isinstance(node, exp.Add) else "-"
    sides = [node.this, node.args["expression"]]
    if operator == "+" and _is_mixed(sides[0]):
        sides.reverse()
    if not _is_mixed(sides[1]):
        return _binary(checker, node)
    return checker.parts(partial(moved_by_amounts, operator), sides[0], *sides[1].expressions)


def _is_mixed(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in ("make_interval", "try_make_interval")


def _binary(checker: NodeChecker, node: exp.Expr) -> Value | None:
    return checker.parts(_BINARY[type(node)], node.this, node.args["expression"])


def _connection(checker: NodeChecker, node: exp.Expr) -> Value | None:
    operator = "AND" if isinstance(node, exp.And) else "OR"
    return checker.parts(lambda *values: comparisons.conjunction(operator, values), *_flattened(node))


def _flattened(node: exp.Expr) -> list[exp.Expr]:
    operands: list[exp.Expr] = []
    stack: list[exp.Expr] = [node]
    while stack:
        part = stack.pop()
        if type(part) is type(node):
            stack += [part.args["expression"], part.this]
        else:
            operands.append(part)
    return operands


def _like(checker: NodeChecker, node: exp.Expr) -> Value | None:
    if isinstance(node.args["expression"], exp.Any | exp.All):
        return _like_several(checker, node)
    write = _PATTERNS[type(node)]
    value = checker.parts(write, node.this, node.args["expression"])
    return comparisons.negation(value) if value and node.args.get("negate") else value


def _like_several(checker: NodeChecker, node: exp.Expr) -> Value | None:
    several = node.args["expression"]
    negated = bool(node.args.get("negate"))
    patterns = several.this.expressions if isinstance(several.this, exp.Tuple) else [several.this]

    def write(value: Value, *listed: Value) -> Value:
        found = [_PATTERNS[type(node)](value, pattern) for pattern in listed]
        matches = [comparisons.negation(one) if negated else one for one in found]
        return comparisons.conjunction("OR" if isinstance(several, exp.Any) else "AND", matches)

    return checker.parts(write, node.this, *(part.unnest() for part in patterns))


def _escaped(checker: NodeChecker, node: exp.Expr) -> Value | None:
    like = node.this
    write = comparisons.like if isinstance(like, exp.Like) else like_whatever_case
    if not isinstance(like, exp.Like | exp.ILike):
        raise invalid("`escape` stands behind `like` and `ilike` only")
    value = checker.parts(write, like.this, like.args["expression"], node.args["expression"])
    return comparisons.negation(value) if value and like.args.get("negate") else value


def _is(checker: NodeChecker, node: exp.Expr) -> Value | None:
    expected = node.args["expression"]
    if isinstance(expected, exp.Boolean):
        return checker.parts(partial(comparisons.is_true_or_false, bool(expected.this)), node.this)
    if not isinstance(expected, exp.Null):
        raise invalid("after `is` comes `null`, `true`, `false` or `distinct from`; compare with = otherwise")
    return checker.parts(comparisons.is_null, node.this)


def _different(left: Value, right: Value) -> Value:
    return comparisons.negation(comparisons.comparison("<=>", left, right))


def _called(name: str, *parts: str) -> Check:
    """Return the check of a call that has keywords between its arguments (`overlay(a placing b from c)`)."""

    def check(checker: NodeChecker, node: exp.Expr) -> Value | None:
        arguments = [node.args[part] for part in parts if node.args.get(part)]
        return checker.parts(lambda *values: BY_NAME[name].call(values), *arguments)

    return check


def _trim(checker: NodeChecker, node: exp.Expr) -> Value | None:
    side = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")).upper(), "trim")
    characters = [node.args["expression"]] if node.args.get("expression") else []
    return checker.parts(partial(trimmed, side), node.this, *characters)


def _extract(checker: NodeChecker, node: exp.Expr) -> Value | None:
    return checker.parts(partial(part, str(node.this.this)), node.args["expression"])


def _binary_literal(_: NodeChecker, node: exp.Expr) -> Value | None:
    if not re.fullmatch("[0-9a-fA-F]*", node.this):
        raise invalid("a binary is written in hexadecimal digits, as in x'1F'")
    return Value(BINARY, f"unhex('{node.this if len(node.this) % 2 == 0 else '0' + node.this}')", simple=True)


def _membership(checker: NodeChecker, node: exp.Expr) -> Value | None:
    sides = [node.this, *node.expressions]
    if all(isinstance(side, exp.Tuple) for side in sides):
        sides = [_without_names(side) for side in sides]
    return checker.parts(lambda value, *choices: comparisons.membership(value, choices), *sides)


def _without_names(row: exp.Expr) -> exp.Expr:
    """Return a row of values in parentheses whose fields are not called after columns."""
    items = [exp.Alias(this=item, alias=exp.to_identifier(f"f{place}")) for place, item in enumerate(row.expressions)]
    return exp.Tuple(expressions=items)


def _between(checker: NodeChecker, node: exp.Expr) -> Value | None:
    return checker.parts(comparisons.between, node.this, node.args["low"], node.args["high"])


def _negative(checker: NodeChecker, node: exp.Expr) -> Value | None:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return number(f"-{node.this.this}")
    return suffixed(node.this, "-") or checker.parts(time_arithmetic.opposite, node.this)


def _case(checker: NodeChecker, node: exp.Expr) -> Value | None:
    subject, default = node.this, node.args.get("default")
    branches = [part for branch in node.args["ifs"] for part in (branch.this, branch.args["true"])]

    def write(*values: Value) -> Value:
        start, end = (1 if subject else 0), len(values) - (1 if default else 0)
        whens = values[start:end:2]
        if subject:
            whens = tuple(comparisons.comparison("=", values[0], when) for when in whens)
        choices = list(zip(whens, values[start + 1 : end : 2], strict=True))
        chosen = comparisons.case(choices, values[-1] if default else None)
        return replace(chosen, remarks=comparisons.merged_remarks(whens))

    return checker.parts(write, *([subject] if subject else []), *branches, *([default] if default else []))


def _item(checker: NodeChecker, node: exp.Expr) -> Value | None:
    if len(node.expressions) != 1:
        raise invalid("write one position or key in [...], as in a[0]")
    return checker.parts(lambda value, index: nested_values.item(value, index, implied), node.this, node.expressions[0])


def _field(checker: NodeChecker, node: exp.Expr) -> Value | None:
    name = node.args["expression"]
    if not isinstance(name, exp.Identifier):
        raise invalid("after a point comes the name of a field")
    return checker.parts(lambda value: nested_values.field(value, name.this), node.this)


def _cast(checker: NodeChecker, node: exp.Expr) -> Value | None:
    if (whole := suffixed(node)) is not None:
        return whole
    target = cast_target(node.args["to"])
    # date '...' and timestamp '...'; what is written as a cast comes as TryCast, but behind a path into a variant
    if type(node) is exp.Cast and not isinstance(node.this, exp.JSONExtract):
        check_moment(str(node.this.this), target)
    write = tried if node.args.get("safe") else converted
    return checker.parts(lambda value: write(value, target), node.this)


def _variant_part(checker: NodeChecker, node: exp.Expr) -> Value | None:
    path = "$" + "".join(_step(step) for step in node.args["expression"].expressions[1:])
    literal = Value(STRING, text(path), path, simple=True)
    return checker.parts(lambda value: BY_NAME["variant_get"].call([value, literal]), node.this)


def _step(step: exp.Expr) -> str:
    """Return a step of a path into a variant, as `variant_get` reads it."""
    if isinstance(step, exp.JSONPathSubscript) and isinstance(step.this, int):
        return f"[{step.this}]"
    if isinstance(step, exp.JSONPathKey) and isinstance(step.this, str) and "'" not in step.this:
        return f"['{step.this}']"
    raise invalid("a path into a variant is written as in v:a.b[0].c, or v:`a b`")


_HINTS: dict[type[exp.Expr], str] = {
    exp.Star: "`*` is an item of a select list, or an argument of a function",
    exp.Alias: "`as name` stands at the end of an item of a select list only",
    exp.Concat: "two text literals side by side: join texts by ||, and write a quote in a text as \\'",
    exp.Window: "window functions (over) are not supported: use the `window` operator",
    exp.Subquery: "a subquery is not supported: use a join operator",
    exp.Select: "a subquery is not supported: use a join operator",
    exp.Exists: "a subquery is not supported: use a join operator",
    exp.In: "in takes a list of expressions",
}


_BINARY: dict[type[exp.Expr], Callable[[Value, Value], Value]] = {
    exp.Add: partial(time_arithmetic.combined, "+"),
    exp.Sub: partial(time_arithmetic.combined, "-"),
    exp.Mul: partial(time_arithmetic.combined, "*"),
    exp.Div: partial(time_arithmetic.combined, "/"),
    exp.Mod: partial(arithmetic.arithmetic, "%"),
    exp.EQ: partial(comparisons.comparison, "="),
    exp.NEQ: partial(comparisons.comparison, "<>"),
    exp.LT: partial(comparisons.comparison, "<"),
    exp.LTE: partial(comparisons.comparison, "<="),
    exp.GT: partial(comparisons.comparison, ">"),
    exp.GTE: partial(comparisons.comparison, ">="),
    exp.NullSafeEQ: partial(comparisons.comparison, "<=>"),
    exp.NullSafeNEQ: _different,
    exp.BitwiseAnd: partial(combined, "&"),
    exp.BitwiseOr: partial(combined, "|"),
    exp.BitwiseXor: partial(combined, "^"),
    exp.BitwiseLeftShift: partial(shifted, "<<"),
    exp.BitwiseRightShift: partial(shifted, ">>"),
    exp.IntDiv: integral_quotient,
    exp.DPipe: concatenation,
}
_PATTERNS: dict[type[exp.Expr], Callable[[Value, Value], Value]] = {
    exp.Like: comparisons.like,
    exp.ILike: like_whatever_case,
    exp.RegexpLike: matches,
}


def _form(parts: str, check: Check) -> Form:
    return Form(frozenset(parts.split()), check)


FORMS: dict[type[exp.Expr], Form] = {
    **dict.fromkeys(_BINARY, _form("this expression typed safe", _binary)),
    **dict.fromkeys((exp.Add, exp.Sub), _form("this expression typed safe", _sum)),
    **dict.fromkeys((exp.And, exp.Or), _form("this expression", _connection)),
    **dict.fromkeys(_PATTERNS, _form("this expression negate", _like)),
    **dict.fromkeys(
        (exp.Literal, exp.RawString, exp.Boolean, exp.Null), _form("this is_string", lambda _, node: literal(node))
    ),
    **dict.fromkeys((exp.Cast, exp.TryCast), _form("this to requires_string safe", _cast)),
    **dict.fromkeys(AGGREGATE_FORMS, _form("this expression", lambda checker, node: checker.aggregate(node))),
    exp.Anonymous: _form("this expressions", lambda checker, node: checker.call(node)),
    exp.BitwiseNot: _form("this", lambda checker, node: checker.parts(inverted, node.this)),
    exp.Escape: _form("this expression", _escaped),
    exp.Extract: _form("this expression", _extract),
    exp.Interval: _form("this unit", lambda _, node: interval_literal(node)),
    exp.HexString: _form("this", _binary_literal),
    exp.Overlay: _form("this expression from_ for_", _called("overlay", "this", "expression", "from_", "for_")),
    exp.StrPosition: _form("this substr position", _called("locate", "substr", "this", "position")),
    exp.Substring: _form("this start length", _called("substring", "this", "start", "length")),
    exp.Tuple: _form("expressions", lambda checker, node: checker.struct(node.expressions)),
    exp.Trim: _form("this expression position", _trim),
    exp.Between: _form("this low high", _between),
    exp.Case: _form("this ifs default", _case),
    exp.Bracket: _form("this expressions offset safe", _item),
    exp.Column: _form("this table db catalog", lambda checker, node: checker.column(node)),
    exp.Dot: _form("this expression", _field),
    exp.Identifier: _form("this quoted", lambda checker, node: checker.variable(node)),
    exp.JSONExtract: _form("this expression variant_extract requires_json", _variant_part),
    exp.In: _form("this expressions", _membership),
    exp.Is: _form("this expression", _is),
    exp.Neg: _form("this", _negative),
    exp.Not: _form("this", lambda checker, node: checker.parts(comparisons.negation, node.this)),
    exp.Paren: _form("this", lambda checker, node: checker.node(node.this)),
}
