"""The outputs of an app and the operators before them: a test may expect rows of each."""

from dataclasses import dataclass

from streamapp_core.plan.plan import Plan, StreamRole
from streamapp_core.plan.stream_types.stream_type import StreamType, Upsert
from streamapp_core.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedOutput:
    """An output of an app, or an operator, with the columns of its rows.

    `key` are the columns that tell rows apart where they are changes; None of events. `schema` is None if the `senders`
    of an output send rows of different kinds: these can't be compared.
    """

    name: str
    schema: Schema | None
    key: tuple[str, ...] | None
    senders: tuple[str, ...] = ()


def find_output(name: str, plan: Plan) -> ExpectedOutput | None:
    """Return the output or operator of a name; None if the app has none, or one that emits nothing."""
    stream, operator = plan.streams.get(name), plan.operators.get(name)
    if stream is not None and stream.spec is not None and stream.role is StreamRole.OUTPUT:
        keys = {_key(plan.operators[sender].input_types[0]) for sender in stream.producers}
        return ExpectedOutput(
            name=name,
            schema=stream.schema if len(keys) == 1 else None,
            key=next(iter(keys)),
            senders=stream.producers,
        )
    written = (declared.name for declared in plan.app.spec.operators)
    if operator is None or operator.kind.terminal or name not in written:
        return None
    return ExpectedOutput(name=name, schema=operator.schema, key=_key(operator.type))


def output_names(plan: Plan) -> tuple[str, ...]:
    """Return the names of all that a test may expect rows of, outputs first."""
    names = dict.fromkeys((*plan.app.spec.streams, *(operator.name for operator in plan.app.spec.operators)))
    return tuple(name for name in names if find_output(name, plan) is not None)


def _key(type_: StreamType) -> tuple[str, ...] | None:
    return type_.changes.columns if isinstance(type_.changes, Upsert) else None
