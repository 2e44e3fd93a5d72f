"""Shrinks a case that shows a difference to the smallest that still does: delta debugging over all that it is made of.

Each reduction leaves something out or makes it plainer: starts, operators, inputs of a merge, rows, growth,
partitions, values, settings. One that keeps the difference is kept, until none does.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from differential.cases import Case, Source, Stage

_BYPASSED = (
    "filter",
    "map",
    "partitionBy",
    "broadcast",
    "merge",
    "aggregate",
    "topN",
    "over",
    "dedup",
    "window",
    "process",
)
"""Operators that emit the columns of their first input, as far as random apps have them."""
_RENAMES = ("rid", "part", "size", "cast(")
_PLAIN_JOB = {"commitInterval": "50ms", "watermarkInterval": "1ms", "grouper": "partition"}


def shrink(case: Case, differs: Callable[[Case], bool], most: int = 400) -> Case:
    """Return the smallest case found for which the predicate holds, as it does for this one; at most so many tries."""
    tries = 0
    reduced = True
    while reduced:
        reduced = False
        for candidate in reductions(case):
            if tries == most:
                return case
            tries += 1
            if differs(candidate):
                case, reduced = candidate, True
                break
    return case


def reductions(case: Case) -> Iterator[Case]:
    """Yield cases that are a little smaller, those that leave out most first."""
    for number in range(len(case.starts)):
        yield _without_start(case, number)
    yield from _with_fewer_operators(case)
    for name, source in case.sources.items():
        for smaller in _smaller(source):
            yield replace(case, sources={**case.sources, name: smaller})
    yield from _with_plainer_settings(case)


def _without_start(case: Case, number: int) -> Case:
    """Leave a start out; what is written before or during a later one comes one start earlier."""
    sources = {
        name: replace(
            source, stages=tuple(replace(stage, start=stage.start - (stage.start > number)) for stage in source.stages)
        )
        for name, source in case.sources.items()
    }
    return replace(case, starts=case.starts[:number] + case.starts[number + 1 :], sources=sources)


def _with_fewer_operators(case: Case) -> Iterator[Case]:
    operators = case.document["spec"]["operators"]
    for operator in operators:
        if "sendTo" in operator or "sendToTable" in operator:
            yield _without(case, {operator["name"]})
    for step, names in reversed(case.steps.items()):
        members = [operator for operator in operators if operator["name"] in names]
        for read in dict.fromkeys(name for member in members for name in _reads(member) if name not in names):
            if read not in case.sources:
                yield _without(case, set(names), {step: read})
    for operator in operators:
        if any(kind in operator for kind in _BYPASSED) and not any(
            word in operator.get("map", "") for word in _RENAMES
        ):
            read = _first(operator["from"])
            if read not in case.sources:
                yield _without(case, {operator["name"]}, {operator["name"]: read})
        if "merge" in operator:
            yield _without(case, {operator["name"]}, {operator["name"]: operator["from"][1]})


def _without(case: Case, names: set[str], instead: Mapping[str, str] | None = None) -> Case:
    """Leave operators out; who reads one of them reads another. What nobody reads then is left out, too."""
    instead = instead or {}
    operators = [
        _reading(operator, instead) for operator in case.document["spec"]["operators"] if operator["name"] not in names
    ]
    while True:
        read = {name for operator in operators for name in _reads(operator)}
        kept = [o for o in operators if o["name"] in read or "sendTo" in o or "sendToTable" in o]
        if len(kept) == len(operators):
            break
        operators = kept
    return _tidy(case, operators)


def _reading(operator: dict[str, Any], instead: Mapping[str, str]) -> dict[str, Any]:
    reads = operator["from"]
    one = isinstance(reads, str)
    changed = {**operator, "from": instead.get(reads, reads) if one else [instead.get(name, name) for name in reads]}
    if "join" in operator:
        changed["join"] = {**operator["join"], "with": instead.get(operator["join"]["with"], operator["join"]["with"])}
    return changed


def _tidy(case: Case, operators: list[dict[str, Any]]) -> Case:
    """Keep the streams, tables, sources and steps that these operators have to do with."""
    spec = case.document["spec"]
    tables = {o["joinTable"]["table"] for o in operators if "joinTable" in o}
    operators = [o for o in operators if o.get("sendToTable", next(iter(tables), None)) in {*tables, None}]
    sides = {side for table in tables for side in spec["tables"][table].get("sideInputs", ())}
    used = {name for o in operators for name in [*_reads(o), o.get("sendTo")]} | sides
    names = {o["name"] for o in operators}
    document = {
        **case.document,
        "spec": {
            **spec,
            "operators": operators,
            "streams": {name: stream for name, stream in spec["streams"].items() if name in used},
            "tables": {name: table for name, table in spec["tables"].items() if name in tables},
        },
    }
    steps = {step: tuple(name for name in members if name in names) for step, members in case.steps.items()}
    return replace(
        case,
        document=document,
        sources={name: source for name, source in case.sources.items() if name in used},
        steps={step: members for step, members in steps.items() if step in names and members},
    )


def _smaller(source: Source) -> Iterator[Source]:
    """Yield the source with fewer rows, half of them first, without growth, in one partition, with plainer values."""
    size = len(source.rows)
    while size:
        for begin in range(0, len(source.rows), size):
            yield _with_rows(source, begin, begin + size)
        size //= 2
    for number in range(len(source.stages) - 1):
        yield replace(source, stages=source.stages[:number] + source.stages[number + 1 :])
    if source.partitions > 1 and not source.last:
        yield replace(source, stages=(Stage(partitions=1, end=len(source.rows)),))
    for column, plain in ((0, 0), (3, 0), (4, 0)):
        plainer = tuple((*row[:column], plain, *row[column + 1 :]) for row in source.rows)
        if plainer != source.rows:
            yield replace(source, rows=plainer)


def _with_rows(source: Source, begin: int, end: int) -> Source:
    """Leave out rows; stages end where their last row is then."""
    stages = tuple(replace(stage, end=stage.end - len(range(begin, min(stage.end, end)))) for stage in source.stages)
    return replace(source, rows=source.rows[:begin] + source.rows[end:], stages=stages)


def _with_plainer_settings(case: Case) -> Iterator[Case]:
    spec = case.document["spec"]
    job = {"partitionMonitor": spec["job"]["partitionMonitor"], **_PLAIN_JOB}
    plainer = [{"job": job}, {"processors": {"count": 1}}]
    plainer += [{"job": {**spec["job"], name: value}} for name, value in _PLAIN_JOB.items()]
    for change in plainer:
        if any(spec[name] != value for name, value in change.items()):
            yield replace(case, document={**case.document, "spec": {**spec, **change}})
    alike = tuple(replace(start, processors=spec["processors"]["count"]) for start in case.starts)
    if alike != case.starts:
        yield replace(case, starts=alike)


def _reads(operator: dict[str, Any]) -> list[str]:
    reads = operator["from"]
    others = [operator["join"]["with"]] if "join" in operator else []
    return [*([reads] if isinstance(reads, str) else reads), *others]


def _first(reads: str | list[str]) -> str:
    return reads if isinstance(reads, str) else reads[0]


def describe(case: Case) -> str:
    """Return the app and all circumstances as text, an operator or a row a line."""
    spec = case.document["spec"]
    lines = ["streams:", *(f"  {name}: {_json(stream)}" for name, stream in spec["streams"].items())]
    lines += ["tables:", *(f"  {name}: {_json(table)}" for name, table in spec["tables"].items())]
    lines += ["operators:", *(f"  - {_json(operator)}" for operator in spec["operators"])]
    lines += [f"job: {_json(spec['job'])}", f"processors: {_json(spec['processors'])}", f"starts: {case.starts}"]
    for name, source in case.sources.items():
        lines += [f"{name} ({source.placing}, {source.stages}):", *(f"  {row}" for row in source.rows)]
        lines += [f"  last {row}" for row in source.last]
    return "\n".join(lines)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
