"""The delivery guarantee: outputs, intermediate streams and changelog in one transaction (docs/protocols.md)."""

from collections.abc import Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.job import Delivery, Grouper

_PATH = "spec.job.delivery"


def default_system(spec: StreamAppSpec) -> str | None:
    """Return the system of intermediate streams and the changelog: as declared, else the only one that could be it."""
    if spec.default_system is not None:
        return spec.default_system
    possible = [name for name, system in spec.systems.items() if system.kind.transactional]
    return possible[0] if len(possible) == 1 else None


def check_delivery(graph: Graph, *, stateful: bool) -> Iterator[Problem]:
    """Find cases in which the guarantee of `job.delivery` can't be kept, and a grouper that would lose state."""
    spec = graph.spec
    if stateful and spec.job.grouper is Grouper.ALL:
        yield Problem(
            path="spec.job.grouper",
            code=ProblemCode.GROUPER_UNSUPPORTED,
            message="the app keeps state, and the tasks of the grouper `all` follow the number of processors: their "
            "state would be lost with each change; use `partition`",
        )
    default = default_system(spec)
    if default is not None and (default in graph.opaque or default not in spec.systems):
        return
    exactly_once = spec.job.delivery is Delivery.EXACTLY_ONCE
    if default is None or not spec.systems[default].kind.transactional:
        yield _no_place(spec, default, exactly_once=exactly_once)
    elif exactly_once:
        yield from _check_outputs(graph, default)
    if stateful and not exactly_once:
        yield _unsupported("the app keeps state, and `atLeastOnce` would count rows twice in it; use `exactlyOnce`")


def _check_outputs(graph: Graph, default: str) -> Iterator[Problem]:
    apart = []
    for name in sorted(graph.senders):
        stream = graph.spec.streams.get(name)
        system = None if stream is None else graph.spec.systems.get(stream.system)
        if stream is None or system is None or stream.system == default or not system.kind.transactional:
            continue
        apart.append(f"`{name}` in `{stream.system}`")
    if apart:
        yield _unsupported(
            f"`exactlyOnce` writes outputs, intermediate streams and changelog in one transaction of `{default}`, and "
            f"{', '.join(apart)} can't take part; put all outputs into `{default}` or files, make another system the "
            "`defaultSystem`, or use `atLeastOnce` (for apps without state)"
        )


def _no_place(spec: StreamAppSpec, default: str | None, *, exactly_once: bool) -> Problem:
    if default is None:
        known = "several could be it" if any(s.kind.transactional for s in spec.systems.values()) else "files can't be"
        reason = f"no `defaultSystem` is given, and {known}"
    else:
        holds = "a database of tables" if spec.systems[default].postgresql is not None else "a folder of files"
        reason = f"`{default}` is {holds}, which has no transactions of streams"
    message = (
        f"{reason}: intermediate streams and the changelog need a system of kind kafka or log as the `defaultSystem`"
    )
    if exactly_once:
        return _unsupported(message)
    return Problem(path="spec.defaultSystem", code=ProblemCode.INVALID_SPEC, message=message)


def _unsupported(message: str) -> Problem:
    return Problem(path=_PATH, code=ProblemCode.DELIVERY_UNSUPPORTED, message=message)
