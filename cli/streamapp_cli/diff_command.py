"""`streamapp diff`: what a new spec would do to a running app, before it is applied."""

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue
from rich.console import Console
from rich.text import Text

from streamapp_cli.app_files import exit_with_error
from streamapp_cli.command_options import TableOutput
from streamapp_cli.consoles import new_console
from streamapp_cli.plan_inputs import ask_counts, read_app, read_counts, read_job_model
from streamapp_cli.print_problems import print_problems
from streamapp_cli.text_tables import new_table
from streamapp_core.edits.compare_specs import Comparison, compare_specs
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.planner import plan
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp
from streamapp_systems.expansion_algorithms import installed_algorithm

ACCEPTED, REFUSED = 0, 1
_SHOWN_VALUE, _SHOWN_MOVES = 32, 20


def diff_apps(
    old_file: Path, new_file: Path, *, streams: Path | None, previous: Path | None, output: TableOutput
) -> int:
    """Compare the apps of two files, print what the second would do to the first, and return the exit code."""
    old, new = _sound(old_file), read_app(new_file)
    if new.app is not None and new.app.metadata.name != old.metadata.name:
        exit_with_error(
            f"{old_file} is {old.metadata.name} and {new_file} is {new.app.metadata.name}: they are two apps"
        )
    if streams is None:
        counts = {**ask_counts(old, old_file), **ask_counts(new.app, new_file)}
    else:
        counts = dict(read_counts(streams))
    active = _plan_old(old, old_file, counts) if previous is None else read_job_model(previous)
    try:
        comparison = compare_specs(old, new, counts, active, algorithms=installed_algorithm)
    except ValueError as error:
        exit_with_error(f"{previous or old_file}: {error}")
    if output is TableOutput.JSON:
        print(json.dumps(_document(comparison), indent=2))
    else:
        _print(new_console(), old.metadata.name, comparison)
    return REFUSED if comparison.problems else ACCEPTED


def _sound(path: Path) -> StreamApp:
    parsed = read_app(path)
    if parsed.app is None or parsed.problems:
        exit_with_error(f"{path} has problems, so it can't be what runs: {parsed.problems[0]}")
    return parsed.app


def _plan_old(old: StreamApp, path: Path, counts: Mapping[str, int]) -> JobModel:
    """Return the job model of the old app, planned from its spec."""
    result = plan(ParsedApp(app=old, problems=(), broken=frozenset()), counts, algorithms=installed_algorithm)
    if result.plan is None:
        exit_with_error(
            f"{path} is refused, so it can't be what runs: {result.problems[0]}\n"
            "If it does run, give its job model: --previous MODEL.json"
        )
    return build_job_model(result.plan)


def _document(comparison: Comparison) -> dict[str, JsonValue]:
    return {
        "accepted": not comparison.problems,
        "problems": [
            {"path": problem.path, "code": str(problem.code), "message": problem.message}
            for problem in comparison.problems
        ],
        "class": comparison.edit_class.value,
        "edits": [
            {"path": edit.path, "before": edit.before, "after": edit.after, "class": edit.edit_class.value}
            for edit in comparison.edits
        ],
        "movedTasks": [
            {"task": move.task, "from": move.source, "to": move.target, "reason": move.reason}
            for move in comparison.moves
        ],
        "newStreams": [
            {"stream": stream.name, "system": stream.system, "name": stream.address, "partitions": stream.partitions}
            for stream in comparison.new_streams
        ],
    }


def _print(console: Console, name: str, comparison: Comparison) -> None:
    if comparison.problems:
        print_problems(console, name, comparison.problems)
        return
    edit_class = comparison.edit_class
    console.print(Text.assemble((name, "bold green"), ": ", (edit_class, "bold"), f": {edit_class.effect}\n"))
    if comparison.edits:
        edits = new_table(console, "edit", "does", "before", "after")
        for edit in comparison.edits:
            edits.add_row(edit.path, edit.edit_class, _shown(edit.before), _shown(edit.after))
        console.print(edits)
    if comparison.moves:
        moved = new_table(console, "task", "from", "to", "why it moves")
        for move in comparison.moves[:_SHOWN_MOVES]:
            moved.add_row(move.task, move.source, move.target, move.reason)
        console.print(moved)
        more = len(comparison.moves) - _SHOWN_MOVES
        if more > 0:
            console.print(f"and {more} more tasks move (--output json lists them all)\n")
    if comparison.new_streams:
        created = new_table(console, "new stream", "system", "partitions", "name")
        for stream in comparison.new_streams:
            created.add_row(stream.name, stream.system, str(stream.partitions), stream.address)
        console.print(created)


def _shown(value: JsonValue) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _SHOWN_VALUE else f"{text[:_SHOWN_VALUE]}…"
