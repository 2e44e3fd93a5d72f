"""From text to sqlglot's tree, within bounds of length, depth and time.

sqlglot's Spark dialect reads the text, but knows no function here: every call stays as it was written, so that our
own table of functions is the only one.
"""

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from streamapp_core.expressions.expression_issues import ExpressionError, Refusal, invalid

MAX_TEXT_LENGTH = 10_000
MAX_NESTING = 25
"""Parentheses, brackets, cases and prefix operators around each other: bounds sqlglot's recursion."""
MAX_DEPTH = 100
"""Levels of the tree; `a and b and c` is one, `a + b + c` two."""

_PREFIX = "SELECT "
_DIALECT = Spark()
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_PREFIX_OPERATORS = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})


class _Parser(SparkParser):
    """Spark's parser without functions of its own: calls come out as `Anonymous`, but for those with keywords."""

    FUNCTIONS = {}
    NO_PAREN_FUNCTIONS = {}
    FUNCTION_PARSERS = {
        name: SparkParser.FUNCTION_PARSERS[name]
        for name in ("CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTRING", "SUBSTR", "TRIM")
    }
    ARRAY_CONSTRUCTORS = {}
    NO_PAREN_FUNCTION_PARSERS = {"CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}


def parse_items(text: str) -> tuple[exp.Expr, ...]:
    """Parse a list of expressions, as it stands behind SELECT.

    Raises:
        ExpressionError: The text is no such list, or too long or too deeply nested.
    """
    try:
        return _parsed(text)
    except Refusal as refusal:
        raise ExpressionError((refusal.issue,)) from None


def children(node: exp.Expr) -> Iterator[exp.Expr]:
    """Return the direct parts of a node."""
    for value in node.args.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr):
                yield part


def output_name(item: exp.Expr) -> tuple[str | None, exp.Expr]:
    """Split an item of a select list into its name, if it has one, and what is named."""
    if isinstance(item, exp.Alias):
        return item.alias, item.this
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Identifier):
        return str(item.this.this), item
    if isinstance(item, exp.Dot) and isinstance(item.expression, exp.Identifier):
        return str(item.expression.this), item
    return None, item


def _parsed(text: str) -> tuple[exp.Expr, ...]:
    if len(text) > MAX_TEXT_LENGTH:
        raise invalid(f"the text has {len(text)} characters, {MAX_TEXT_LENGTH} is the most")
    if not text.strip():
        raise invalid("the text is empty")
    try:
        tokens = _DIALECT.tokenize(_PREFIX + text)
        _check_tokens(tokens)
        statements = _Parser(dialect=_DIALECT).parse(tokens, _PREFIX + text)
    except ParseError as error:
        raise invalid(_syntax_message(error)) from None
    except (SqlglotError, ValueError, AttributeError, TypeError, IndexError, KeyError):
        raise invalid("it is not a Spark SQL expression") from None
    except RecursionError:
        raise invalid(f"it is nested too deeply (at most {MAX_NESTING} levels)") from None
    select = statements[0] if len(statements) == 1 else None
    if type(select) is not exp.Select or any(part for name, part in select.args.items() if name != "expressions"):
        raise invalid("expected expressions only: no SELECT, FROM, WHERE or other clauses, no semicolon")
    if not select.expressions:
        raise invalid("the text has no expression")
    _check_depth(select)
    return tuple(select.expressions)


def _check_tokens(tokens: list[Token]) -> None:
    depth = prefixes = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        prefixes = prefixes + 1 if token.token_type in _PREFIX_OPERATORS else 0
        if max(depth, prefixes) > MAX_NESTING:
            raise invalid(f"it is nested too deeply (at most {MAX_NESTING} levels)")
        if token.token_type is TokenType.SEMICOLON:
            raise invalid("expected one expression without semicolon")


def _check_depth(root: exp.Expr) -> None:
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise invalid(f"it has more than {MAX_DEPTH} operators in a chain; split it into several steps")
        for child in children(node):
            flat = isinstance(node, exp.Connector) and type(child) is type(node)
            stack.append((child, depth + (not flat)))


def _syntax_message(error: ParseError) -> str:
    if not error.errors:
        return "it is not a Spark SQL expression"
    first = error.errors[0]
    column = (first.get("col") or 0) - (len(_PREFIX) if first.get("line") == 1 else 0)
    near = str(first.get("highlight") or "").strip()[:40]
    where = f" near `{near}`" if near else ""
    description = str(first.get("description") or "it does not parse").rstrip(".")
    if "<class" in description:
        description = "a part is missing"
    return f"syntax error{where} (line {first.get('line')}, column {max(column, 1)}): {description}"
