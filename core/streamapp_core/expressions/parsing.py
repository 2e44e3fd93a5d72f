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
from streamapp_core.expressions.interval_literals import UNIT_NAMES

MAX_TEXT_LENGTH = 10_000
MAX_NESTING = 25
"""Parentheses, brackets, cases and prefix operators around each other: bounds sqlglot's recursion."""
MAX_DEPTH = 100
"""Levels of the tree; `a and b and c` is one, `a + b + c` two."""

_SELECT = "SELECT "
_ORDER_BY = "SELECT 1 ORDER BY "
_DIALECT = Spark()
_KEYWORDS = frozenset(word for word in Spark.Tokenizer.KEYWORDS if word.isalpha())
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_PREFIX_OPERATORS = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})


_COMPARISONS = {**SparkParser.EQUALITY, **SparkParser.COMPARISON}
_BITWISE = (
    (TokenType.PIPE, exp.BitwiseOr),
    (TokenType.CARET, exp.BitwiseXor),
    (TokenType.AMP, exp.BitwiseAnd),
)


class _Parser(SparkParser):
    """Spark's parser without functions of its own: calls come out as `Anonymous`, but for those with keywords."""

    FUNCTIONS = {}
    NO_PAREN_FUNCTIONS = {}
    FUNCTION_PARSERS = {
        name: SparkParser.FUNCTION_PARSERS[name]
        for name in ("CAST", "TRY_CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTRING", "SUBSTR", "TRIM")
    }
    ARRAY_CONSTRUCTORS = {}
    COLON_IS_VARIANT_EXTRACT = True
    NO_PAREN_FUNCTION_PARSERS = {"CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
    TERM = {**SparkParser.TERM, TokenType.DPIPE: exp.DPipe}
    UNARY_PARSERS = {**SparkParser.UNARY_PARSERS, TokenType.PLUS: lambda self: self._parse_positive()}

    def _parse_positive(self) -> exp.Expr | None:
        """Parse `+a` as `positive(a)`, which has a number's type and no name; to sqlglot it is `a`."""
        operand = self._parse_unary()
        if operand is None or (isinstance(operand, exp.Literal) and operand.is_number):
            return operand
        return self.expression(exp.Anonymous(this="positive", expressions=[operand]))

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:  # noqa: ARG002 - sqlglot's
        """Parse comparisons, which all bind alike, from the left; sqlglot binds `<` and `is` closer than `=`."""
        return self._parse_comparison()

    def _parse_comparison(self, this: exp.Expr | None = None) -> exp.Expr | None:
        this = this or self._parse_bitwise()
        while this:
            index = self._index
            if self._match_set(_COMPARISONS):
                operator = _COMPARISONS[self._prev.token_type]
                this = self._build_predicate(operator, this, self._parse_bitwise())
            else:
                this = self._parse_range(this, parse_is=True)
            if self._index == index:
                break
        return this

    def _parse_bitwise(self, level: int = 0) -> exp.Expr | None:
        """Parse operators of bits by their precedence, in which `|` is the last; to sqlglot all are alike."""
        if level == len(_BITWISE):
            return self._parse_shift()
        this = self._parse_bitwise(level + 1)
        token, operator = _BITWISE[level]
        while self._match(token):
            this = self.expression(operator(this=this, expression=self._parse_bitwise(level + 1)))
        return this

    def _parse_shift(self) -> exp.Expr | None:
        this = self._parse_term()
        while True:
            if self._match_pair(TokenType.LT, TokenType.LT):
                this = self.expression(exp.BitwiseLeftShift(this=this, expression=self._parse_term()))
            elif self._match_pair(TokenType.GT, TokenType.GT):
                if self._match(TokenType.GT):
                    sides = [this, self._parse_term()]
                    this = self.expression(exp.Anonymous(this="shiftrightunsigned", expressions=sides))
                else:
                    this = self.expression(exp.BitwiseRightShift(this=this, expression=self._parse_term()))
            else:
                return this

    def _parse_interval(self, *_: object, **__: object) -> exp.Interval | None:
        """Parse a literal of an interval as Spark does: sqlglot would add up its parts, beside other operators."""
        start = self._index
        if not self._match(TokenType.INTERVAL):
            return None
        if self._match(TokenType.STRING) and not self._at_unit(0):
            return self.expression(exp.Interval(this=exp.Literal.string(self._prev.text)))
        self._retreat(start + 1)
        parts = []
        while (length := self._amount_length()) and self._at_unit(length):
            parts.append("".join(token.text for token in self._tokens[self._index : self._index + length]).strip())
            self._advance(length)
            parts.append(self._curr.text)
            self._advance()
        if not parts:
            self._retreat(start)
            return None
        if not self._match_text_seq("TO"):
            return self.expression(exp.Interval(this=exp.Literal.string(" ".join(parts))))
        last = self._curr.text if self._at_unit(0) else ""
        if len(parts) > 2 or not last:  # noqa: PLR2004 - one amount and its unit
            self.raise_error("an interval is written as in '1-2' year to month")
        self._advance()
        unit = exp.IntervalSpan(this=exp.Var(this=parts[1]), expression=exp.Var(this=last))
        return self.expression(exp.Interval(this=exp.Literal.string(parts[0]), unit=unit))

    def _token(self, ahead: int) -> Token | None:
        place = self._index + ahead
        return self._tokens[place] if place < len(self._tokens) else None

    def _at_unit(self, ahead: int) -> bool:
        token = self._token(ahead)
        return token is not None and token.text.lower() in UNIT_NAMES and token.token_type is not TokenType.STRING

    def _amount_length(self) -> int:
        """Return the number of tokens of a number or text with its sign; 0 if there is none."""
        first = self._token(0)
        signed = first is not None and first.token_type in (TokenType.DASH, TokenType.PLUS)
        token = self._token(1 if signed else 0)
        return 1 + signed if token and token.token_type in (TokenType.STRING, TokenType.NUMBER) else 0


def parse_items(text: str) -> tuple[exp.Expr, ...]:
    """Parse a list of expressions, as it stands behind SELECT.

    Raises:
        ExpressionError: The text is no such list, or too long or too deeply nested.
    """
    return tuple(_select(text, _SELECT, "expressions").expressions)


def parse_ordering(text: str) -> tuple[exp.Ordered, ...]:
    """Parse a list of expressions with directions, as it stands behind ORDER BY.

    Raises:
        ExpressionError: The text is no such list, or too long or too deeply nested.
    """
    return tuple(_select(text, _ORDER_BY, "order").args["order"].expressions)


def tokenize(text: str) -> list[Token]:
    """Split a text into Spark's tokens.

    Raises:
        SqlglotError: a quote or a comment has no end.
    """
    return _with_quotes(_with_binaries(_DIALECT.tokenize(text)), text)


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
    part = item.unnest()
    name = None
    if isinstance(part, exp.Column):
        name = part.this
    elif isinstance(part, exp.Dot):
        name = part.expression
    elif isinstance(part, exp.Identifier):  # a variable of a lambda
        name = part
    elif isinstance(part, exp.JSONExtract):  # a path into a variant
        name = next((step for step in reversed(part.expression.expressions) if isinstance(step, exp.JSONPathKey)), None)
    return (str(name.this) if isinstance(name, exp.Identifier | exp.JSONPathKey) else None), item


def field_name(item: exp.Expr) -> tuple[str | None, exp.Expr]:
    """Split an argument that makes a field into its name, if it has one, and what is named: `a['b']` has the name b."""
    part = item.unnest()
    key = part.expressions[0] if isinstance(part, exp.Bracket) and len(part.expressions) == 1 else None
    if isinstance(key, exp.RawString) or (isinstance(key, exp.Literal) and key.is_string):
        return str(key.this), item
    return output_name(item)


def columns_without(item: exp.Expr) -> tuple[str, ...] | None:
    """Return the names that `* except (a, b)` leaves out, none of `*`; None if it is another item."""
    if not isinstance(item, exp.Star) or any(part for name, part in item.args.items() if name != "except_"):
        return None
    left_out = item.args.get("except_") or []
    if not all(isinstance(one, exp.Column) and len(one.parts) == 1 for one in left_out):
        return None
    return tuple(one.name for one in left_out)


def struct_of_star(item: exp.Expr) -> exp.Expr | None:
    """Return what stands before `.*`, whose fields are meant; None if it is another item."""
    if isinstance(item, exp.Dot):
        return item.this if isinstance(item.expression, exp.Star) and not any(item.expression.args.values()) else None
    if not isinstance(item, exp.Column) or not isinstance(item.this, exp.Star) or any(item.this.args.values()):
        return None
    names = item.parts[:-1]
    return exp.Column(**dict(zip(("this", "table", "db"), reversed(names), strict=False))) if names else None


def output_names(item: exp.Expr) -> tuple[tuple[str, ...], exp.Expr]:
    """Split an item with any number of names, `... as (a, b)`, into these and what is named."""
    if isinstance(item, exp.Aliases) and all(isinstance(name, exp.Identifier) for name in item.expressions):
        return tuple(str(name.this) for name in item.expressions), item.this
    name, node = output_name(item)
    return (() if name is None else (name,)), node


def _select(text: str, prefix: str, clause: str) -> exp.Select:
    """Parse a text behind a prefix, with which it is a query that has nothing but one clause."""
    try:
        return _parsed(text, prefix, clause)
    except Refusal as refusal:
        raise ExpressionError((refusal.issue,)) from None


def _parsed(text: str, prefix: str, clause: str) -> exp.Select:
    if len(text) > MAX_TEXT_LENGTH:
        raise invalid(f"the text has {len(text)} characters, {MAX_TEXT_LENGTH} is the most")
    if not text.strip():
        raise invalid("the text is empty")
    try:
        tokens = tokenize(prefix + text)
        _check_tokens(tokens)
        statements = _Parser(dialect=_DIALECT).parse(tokens, prefix + text)
    except ParseError as error:
        raise invalid(_syntax_message(error, prefix)) from None
    except (SqlglotError, ValueError, AttributeError, TypeError, IndexError, KeyError):
        raise invalid("it is not a Spark SQL expression") from None
    except RecursionError:
        raise invalid(f"it is nested too deeply (at most {MAX_NESTING} levels)") from None
    select = statements[0] if len(statements) == 1 else None
    if type(select) is not exp.Select or any(
        part for name, part in select.args.items() if name not in ("expressions", clause)
    ):
        raise invalid("expected expressions only: no SELECT, FROM, WHERE or other clauses, no semicolon")
    if not select.expressions:
        raise invalid("the text has no expression")
    _check_depth(select)
    return select


def _with_binaries(tokens: list[Token]) -> list[Token]:
    """Return tokens with each `x` before a text made one of a binary: Spark allows a blank between them."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        marked = last and last.token_type is TokenType.VAR and last.text.lower() == "x"
        if last and marked and token.token_type is TokenType.STRING:
            joined[-1] = Token(TokenType.HEX_STRING, token.text, token.line, token.col, last.start, token.end)
        else:
            joined.append(token)
    return joined


def _with_quotes(tokens: list[Token], sql: str) -> list[Token]:
    """Return tokens with texts that touch made one: a quote that stands twice in a text is one of its characters."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        texts = last and last.token_type is token.token_type is TokenType.STRING
        if last and texts and last.end + 1 == token.start and sql[last.end] == sql[token.start]:
            whole = last.text + sql[token.start] + token.text
            joined[-1] = Token(TokenType.STRING, whole, last.line, last.col, last.start, token.end)
        else:
            joined.append(token)
    return joined


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


def _syntax_message(error: ParseError, prefix: str) -> str:
    if not error.errors:
        return "it is not a Spark SQL expression"
    first = error.errors[0]
    column = (first.get("col") or 0) - (len(prefix) if first.get("line") == 1 else 0)
    near = str(first.get("highlight") or "").strip()[:40]
    where = f" near `{near}`" if near else ""
    description = str(first.get("description") or "it does not parse").rstrip(".")
    if "<class" in description:
        description = "a part is missing"
    if near == "&&":
        description = "write `and`"
    if near.upper() in _KEYWORDS:
        description += f"; if `{near}` is a column, write it in backquotes, as `{near}`"
    return f"syntax error{where} (line {first.get('line')}, column {max(column, 1)}): {description}"
