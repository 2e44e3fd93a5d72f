"""Edits of the graph that change state or keys, so that they need a new run (docs/edits.md)."""

from collections.abc import Iterable

from streamapp_core.graph.graph import written_name
from streamapp_core.plan.plan import Plan


def state_changers(old: Plan, new: Plan, edited: frozenset[str]) -> frozenset[str]:
    """Find the edited streams, tables and operators that change state or keys, given all that are edited.

    These are the intermediate streams that are gone or have another key, and for every store that gets another shape
    the cause of it: the edited ones at the store and upstream of it, as far as their rows change.
    """
    regrouped = {
        name
        for name, key in old.partition_keys.items()
        if name not in new.partition_keys or new.partition_keys[name] != key
    }
    reshaped = [name for name, shape in old.stores.items() if new.stores.get(name, shape) != shape]
    return edited & {written_name(name) for name in regrouped | _above(old, new, reshaped)}


def _above(old: Plan, new: Plan, names: Iterable[str]) -> set[str]:
    """Follow the rows upstream from some names, through what emits other rows than before."""
    found = set(names)
    open_names = list(found)
    while open_names:
        name = open_names.pop()
        for source in {*_sources(old, name), *_sources(new, name)} - found:
            if _emitted(old, source) != _emitted(new, source):
                found.add(source)
                open_names.append(source)
    return found


def _sources(plan: Plan, name: str) -> tuple[str, ...]:
    if name in plan.tables:
        return plan.tables[name].fillers
    operator = plan.operators.get(name)
    if operator is None:
        return ()
    joined = operator.spec.join_table
    return operator.inputs if joined is None else (*operator.inputs, joined.table)


def _emitted(plan: Plan, name: str) -> object:
    """Describe the rows of a stream, table or operator: their columns, how they change, and how they are spread."""
    if name in plan.operators:
        operator = plan.operators[name]
        return operator.schema, operator.key, operator.broadcast, str(operator.type.changes), operator.type.changed_by
    if name in plan.tables:
        table = plan.tables[name]
        return table.schema, table.key_types, table.broadcast
    stream = plan.streams.get(name)
    return (
        None
        if stream is None
        else (
            stream.schema,
            stream.key,
            stream.broadcast,
            str(stream.type.changes),
            stream.type.changed_by,
        )
    )
