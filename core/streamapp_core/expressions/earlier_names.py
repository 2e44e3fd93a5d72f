"""Names that a select list gives to its items, used by the items behind them: `a * 2 as b, b + 1 as c`.

As in Spark (lateral column aliases), a column of the input comes before such a name.
"""

from sqlglot import exp

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.schema import Schema

MAX_NODES = 5_000
"""The parts of an item with those that it uses by their names: each use of a name is a copy."""


class EarlierNames:
    """The named items of a list so far, each written by the columns of the input alone."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._items: dict[str, tuple[exp.Expr, int]] = {}

    def add(self, item: exp.Expr) -> None:
        """Add a resolved item, if it has a name of its own."""
        if isinstance(item, exp.Alias):
            size = sum(1 for _ in item.this.walk())
            self._items[item.alias.lower()] = (item.this, size)

    def resolved(self, item: exp.Expr) -> exp.Expr:
        """Return an item with what earlier names stand for in place of these.

        Raises:
            Refusal: It becomes too large.
        """
        used = [column for column in item.find_all(exp.Column) if self._named(column)] if self._items else []
        if not used:
            return item
        if sum(self._items[_first(column)][1] for column in used) > MAX_NODES:
            if isinstance(item, exp.Alias):
                self._items[item.alias.lower()] = (exp.Null(), MAX_NODES + 1)
            raise invalid("it is too complex with the earlier items that it names; split the list into several steps")
        return item.transform(self._replaced)

    def _named(self, column: exp.Column) -> bool:
        name = _first(column)
        return name in self._items and self._schema.get(name) is None

    def _replaced(self, node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or not self._named(node):
            return node
        replaced: exp.Expr = exp.Paren(this=self._items[_first(node)][0].copy())
        for identifier in node.parts[1:]:
            replaced = exp.Dot(this=replaced, expression=identifier.copy())
        return replaced


def _first(column: exp.Column) -> str:
    """Return the first of the names of a column, which are joined by points, in lower case."""
    first = column.parts[0]
    return str(first.this).lower() if isinstance(first, exp.Identifier) else ""
