"""Steps of a query that forget: those which keep the rows or keys of events, if its hint says how long."""

from collections.abc import Sequence

from streamapp_core.near_names import did_you_mean
from streamapp_core.plan.sql_operators.relations import Relation
from streamapp_core.plan.sql_operators.rows import Rows
from streamapp_core.plan.sql_operators.step_builder import StepBuilder
from streamapp_core.spec.operators import OperatorSpec
from streamapp_core.sql.query_tree import Selection, SqlIssue


def ttl_fields(selection: Selection, rows: Rows | Relation) -> dict[str, object]:
    """Return the fields of a step that keeps rows or keys of a selection; rows that change are there until they go."""
    return {} if selection.ttl is None or rows.key is not None else {"ttl": selection.ttl.length}


def check_ttl(builder: StepBuilder, selection: Selection, relations: Sequence[Relation | None]) -> None:
    """Keep the issues of a hint that does not name the sources of its selection, all but tables (None)."""
    if selection.ttl is None:
        return
    names = [
        source.alias or (source.relation if isinstance(source.relation, str) else "") for source in selection.sources
    ]
    tables = {name.lower() for name, relation in zip(names, relations, strict=True) if relation is None}
    named = {name.lower() for _, name in selection.ttl.sources}
    for place, name in selection.ttl.sources:
        if name.lower() in tables:
            builder.refuse(SqlIssue(place, "a table keeps its rows until they are replaced; leave it out"))
        elif name.lower() not in map(str.lower, names):
            builder.refuse(SqlIssue(place, f"`{name}` is none of the sources behind `from`{did_you_mean(name, names)}"))
    for source, name in zip(selection.sources, names, strict=True):
        if not name:
            builder.refuse(SqlIssue(source.place, "name this query, so that the hint can name it: (...) as a"))
        elif name.lower() not in named | tables:
            builder.refuse(
                SqlIssue(
                    selection.ttl.place,
                    f"what is kept of the sources of a `select` ends alike: add '{name}' = '{selection.ttl.length}'",
                )
            )


def check_ttl_used(selection: Selection, steps: Sequence[OperatorSpec]) -> None:
    """Check that a step of a selection has taken its hint.

    Raises:
        SqlIssue: none has.
    """
    if selection.ttl is None or any(map(_takes_ttl, steps)):
        return
    raise SqlIssue(
        selection.ttl.place,
        "it ends nothing that this `select` keeps; leave it out, or write it behind the `select` that it is meant for: "
        "it is for joins without bounds of time, groups without a window, `distinct` and `row_number()` of events, "
        "with 'forever' for the last rows of each row, too; rows of results that change are kept while they are there",
    )


def _takes_ttl(step: OperatorSpec) -> bool:
    keeps = step.join or step.aggregate or step.top_n or step.dedup
    return (keeps is not None and keeps.ttl is not None) or (step.over is not None and step.over.range_ == "forever")
