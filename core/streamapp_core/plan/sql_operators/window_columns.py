"""The columns that a window function needs before it, by names that its step can read."""

from sqlglot import exp

from streamapp_core.plan.sql_operators.relations import (
    Found,
    Output,
    Relation,
    RelationColumn,
    Scope,
    first_names,
    unique,
)
from streamapp_core.plan.sql_operators.rows import Rows, write
from streamapp_core.sql.query_tree import Span
from streamapp_core.sql.sql_expressions import SqlExpression


def is_literal(expression: SqlExpression) -> bool:
    """Return whether a group is one of all rows."""
    return isinstance(expression.node, exp.Literal)


def shown_column(relation: Relation, name: str, span: Span) -> Output:
    """Return the output that is a column of a relation."""
    column = relation.get(name)
    assert column is not None
    return Output(name=name, text=column.text, span=span, found=Found(relation=0, column=column, fields=()))


class WindowColumns:
    """The columns that rows need before a window function: the selected ones, and those by which it goes."""

    def __init__(self, scope: Scope, outputs: list[Output], taken: set[str]) -> None:
        self.outputs = outputs
        self._scope = scope
        self._taken = taken

    def reference(self, found: Found, span: Span) -> str:
        """Return the name of the column that holds a value of the rows."""
        for output in self.outputs:
            if output.found is not None and output.found.key == found.key:
                return output.name
        name = unique(found.name, self._taken)
        self.outputs.append(Output(name=name, text=found.text, span=span, found=found))
        return name

    def expression(self, expression: SqlExpression) -> str:
        """Return the name of the column that holds an expression."""
        if expression.reference is not None:
            return self.reference(self._scope.find(expression.reference), expression.span)
        text = write(expression, self._scope)
        name = next((output.name for output in self.outputs if output.text == text), None)
        if name is None:
            name = unique("group", self._taken)
            self.outputs.append(Output(name=name, text=text, span=expression.span))
        return name

    def constant(self, span: Span) -> str:
        """Return the name of a column that has one value in all rows."""
        name = unique("one", self._taken)
        self.outputs.append(Output(name=name, text="1", span=span))
        return name

    def kept(self, rows: Rows) -> dict[str, str]:
        """Return the new names of columns that stay as they are; those of the key are added."""
        for column in rows.key or ():
            if column.lower() not in first_names(self.outputs):
                name = unique(column, self._taken)
                hidden = RelationColumn(name=name, stored=column, type=rows.types[column.lower()])
                found = Found(relation=-1, column=hidden, fields=())
                self.outputs.append(Output(name=name, text=hidden.text, span=self.outputs[0].span, found=found))
        return first_names(self.outputs)
