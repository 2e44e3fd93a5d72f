"""An accepted plan, for people."""

from rich.console import Console
from rich.text import Text

from streamapp_cli.text_tables import new_table
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan
from streamapp_core.plan.render import to_rows, to_step_rows, to_type_rows


def print_plan(console: Console, plan: Plan, model: JobModel) -> None:
    """Print an accepted plan: its streams, rows, steps, joins, and the tasks of each processor."""
    accepted = (f"{plan.app.metadata.name} is accepted", "bold green")
    zone = plan.app.spec.job.time_zone
    shown = "" if zone == "UTC" else f", time zone {zone}"
    console.print(Text.assemble(accepted, f": {plan.mode}, run {plan.run_id}{shown}\n"))
    streams = new_table(console, "stream", "role", "system", "partitions", "rule", "columns")
    for row in to_rows(plan):
        count = f"{row.partitions} (from {row.grew_from})" if row.grew_from else row.partitions
        streams.add_row(row.stream, row.role, row.system, count, row.rule, row.schema)
    console.print(streams)
    rows = new_table(console, "rows of", "kind", "partitioning", "partitions", "changes")
    for type_row in to_type_rows(plan):
        rows.add_row(*type_row)
    console.print(rows)
    steps = to_step_rows(plan)
    if steps:
        derived = new_table(console, "step", "kind", "reads", "does")
        for step_row in steps:
            derived.add_row(*step_row)
        console.print(derived)
    joined = [group for group in plan.join_groups if len(group.streams) > 1]
    if joined:
        groups = new_table(console, "join", "streams with one partition count")
        for group in joined:
            groups.add_row(group.operator, ", ".join(group.streams))
        console.print(groups)
    tasks = new_table(console, "processor", "location", "tasks")
    for name, processor in model.processors.items():
        owned = [task for task, entry in model.tasks.items() if entry.processor == name]
        tasks.add_row(name, processor.location, f"{len(owned)}: {_some(owned)}")
    console.print(tasks)


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown}, …"  # noqa: PLR2004 - as many as fit a line
