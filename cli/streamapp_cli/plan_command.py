"""`streamapp plan`: what would run, or everything that is wrong, without running anything."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from rich import box
from rich.console import Console
from rich.table import Table

from streamapp_cli.files import give_up, read_json, read_text
from streamapp_cli.options import Output
from streamapp_cli.problems import print_problems
from streamapp_core.job_model.build import build_job_model
from streamapp_core.job_model.model import JobModel, ProcessorModel
from streamapp_core.plan.model import Plan, PlanResult
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.plan.render import to_document, to_mermaid, to_rows
from streamapp_core.spec.document import DocumentError
from streamapp_core.spec.parse import ParsedApp, parse_text

ACCEPTED, REFUSED = 0, 1
_NARROWEST, _OTHERS = 20, 64
"""Characters for the last column of a table, at least, and for the others."""
_Value = TypeVar("_Value")


class _Given(BaseModel):
    """What is known of one stream."""

    model_config = ConfigDict(extra="ignore")

    partitions: Annotated[int, Field(ge=1)]


_STREAMS = TypeAdapter(Mapping[str, _Given])
_PROCESSORS = TypeAdapter(Mapping[str, ProcessorModel])
_MODEL = TypeAdapter(JobModel)


def plan_app(
    file: Path, *, streams: Path | None, previous: Path | None, processors: Path | None, output: Output
) -> int:
    """Plan the app of a file, print the plan or its problems, and return the exit code."""
    try:
        parsed = parse_text(read_text(file))
    except DocumentError as error:
        give_up(f"{file}: {error}")
    counts = _ask(parsed, file) if streams is None else _read_counts(streams)
    before = None if previous is None else _read(_MODEL, previous, "no job model")
    live = None if processors is None else _read(_PROCESSORS, processors, "no processors")
    result = make_plan(parsed, counts, before)
    model = None
    if result.plan is not None:
        locations = None if live is None else {name: processor.location for name, processor in live.items()}
        model = build_job_model(result.plan, before, locations)
    _print(file, parsed, result, model, output)
    return REFUSED if result.plan is None else ACCEPTED


def _ask(parsed: ParsedApp, file: Path) -> Mapping[str, int]:
    """Ask the app's systems how many partitions its streams have."""
    from streamapp_runtime.streams import count_partitions
    from streamapp_systems.protocols import StreamSystemError

    if parsed.app is None:
        return {}
    try:
        return count_partitions(parsed.app, file.absolute().parent)
    except StreamSystemError as error:
        give_up(f"{error}\nTo plan without asking, give the partition counts: --streams STREAMS.json")


def _read_counts(path: Path) -> Mapping[str, int]:
    return {name: stream.partitions for name, stream in _read(_STREAMS, path, "no partition counts").items()}


def _read(form: TypeAdapter[_Value], path: Path, otherwise: str) -> _Value:
    try:
        return form.validate_python(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "document"
        give_up(f"{path}: {otherwise}: {where}: {first['msg']}")


def _print(file: Path, parsed: ParsedApp, result: PlanResult, model: JobModel | None, output: Output) -> None:
    console = Console(highlight=False, soft_wrap=True)
    name = parsed.app.metadata.name if parsed.app is not None else file.stem
    if output is Output.JSON:
        print(json.dumps(to_document(result, model), indent=2))
    elif result.plan is None or model is None:
        print_problems(console, name, result.problems)
    elif output is Output.MERMAID:
        print(to_mermaid(result.plan), end="")
    else:
        _print_plan(console, result.plan, model)


def _print_plan(console: Console, plan: Plan, model: JobModel) -> None:
    console.print(f"[bold green]{plan.app.metadata.name} is accepted[/]: {plan.mode}, run {plan.run_id}\n")
    streams = _table(console, "stream", "role", "system", "partitions", "rule", "columns")
    for row in to_rows(plan):
        count = f"{row.partitions} (from {row.grew_from})" if row.grew_from else row.partitions
        streams.add_row(row.stream, row.role, row.system, count, row.rule, row.schema)
    console.print(streams)
    joined = [group for group in plan.join_groups if len(group.streams) > 1]
    if joined:
        groups = _table(console, "join", "streams with one partition count")
        for group in joined:
            groups.add_row(group.operator, ", ".join(group.streams))
        console.print(groups)
    tasks = _table(console, "processor", "location", "tasks")
    for name, processor in model.processors.items():
        owned = [task for task, entry in model.tasks.items() if entry.processor == name]
        tasks.add_row(name, processor.location, f"{len(owned)}: {_some(owned)}")
    console.print(tasks)


def _table(console: Console, *titles: str) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in titles[:-1]:
        table.add_column(title, no_wrap=True)
    table.add_column(titles[-1], no_wrap=True, overflow="ellipsis", max_width=max(_NARROWEST, console.width - _OTHERS))
    return table


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown}, …"  # noqa: PLR2004 - as many as fit a line
