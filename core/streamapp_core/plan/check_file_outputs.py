"""Files to which several operators send rows: a file has one kind of rows."""

from collections.abc import Iterator, Mapping

from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.stream_types.stream_type import StreamType, Upsert
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import StreamChanges

_OWN = "write them to streams of their own"


def check_file_outputs(
    graph: Graph, schemas: Mapping[str, Schema | None], types: Mapping[str, StreamType]
) -> Iterator[Problem]:
    """Find streams of files to which rows of different columns are sent, or some that delete keys beside others."""
    for name, stream in graph.spec.streams.items():
        system = graph.spec.systems.get(stream.system)
        senders = graph.senders.get(name, ())
        if name in graph.opaque or system is None or not system.kind.holds_files:
            continue
        reason = _columns_differ(senders, schemas)
        if reason is None and stream.changes is StreamChanges.APPEND:
            reason = _deletions_differ(senders, types)
        if reason is not None:
            message = f"what is sent to `{name}` is in the same files, and {reason}"
            yield Problem(path=f"spec.streams.{name}", code=ProblemCode.NOT_SUPPORTED, message=message)


def _columns_differ(senders: tuple[Operator, ...], schemas: Mapping[str, Schema | None]) -> str | None:
    sent = [schemas.get(sender.inputs[0]) for sender in senders]
    different = list(dict.fromkeys(schema for schema in sent if schema is not None))
    if len(different) <= 1:
        return None
    listed = " and ".join(f"({schema})" for schema in different)
    return f"has different columns: {listed}; select the same columns in the same order, or {_OWN}"


def _deletions_differ(senders: tuple[Operator, ...], types: Mapping[str, StreamType]) -> str | None:
    known = [(sender.inputs[0], types[sender.inputs[0]]) for sender in senders if sender.inputs[0] in types]
    deleting = [name for name, type_ in known if isinstance(type_.changes, Upsert) and type_.changes.deletes]
    staying = [name for name, type_ in known if name not in deleting and not type_.unknown]
    if not deleting or not staying:
        return None
    return (
        f"rows of `{deleting[0]}` may delete their keys, for which files have a column `__op`, and those of "
        f"`{staying[0]}` don't; {_OWN}"
    )
