"""`streamapp state`: the rows that an operator or a table of an app holds."""

import json
from collections.abc import Sequence
from contextlib import closing
from itertools import groupby, islice
from pathlib import Path

import msgspec
from rich.console import Console

from streamapp_cli.app_files import exit_with_error, state_folder
from streamapp_cli.command_options import TableOutput
from streamapp_cli.consoles import new_console
from streamapp_cli.counted import counted
from streamapp_cli.moment_texts import moment_text
from streamapp_cli.plan_inputs import read_app
from streamapp_cli.print_problems import print_problems
from streamapp_cli.text_tables import new_table
from streamapp_runtime.driver.read_state import StateRow, read_state
from streamapp_runtime.errors import FAILURES, PlanRefused
from streamapp_runtime.execution_context import local_context

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def print_state(
    file: Path, name: str, key: Sequence[str], *, rows: int, state_dir: Path | None, output: TableOutput
) -> int:
    """Print rows that an operator or a table of the app holds, and return the exit code."""
    parsed, folder, console = read_app(file), file.absolute().parent, new_console()
    app = file.stem if parsed.app is None else parsed.app.metadata.name
    state = state_folder(file, app, state_dir)
    try:
        with closing(read_state(parsed, local_context(folder), state, name, key)) as read:
            found = list(islice(read, rows + 1))
    except PlanRefused as refused:
        print_problems(console, app, refused.problems)
        return 1
    except FAILURES as failure:
        exit_with_error(f"{app}: {failure}", 1)
    if output is TableOutput.JSON:
        for row in found[:rows]:
            print(_line(row))
    else:
        _print(console, found[:rows])
        shown = counted(min(len(found), rows), "row")
        there = shown if len(found) <= rows else f"the first {shown}, --rows sets how many"
        console.print(f"{name}: {there if found else 'no rows'}")
    return 0


def _line(row: StateRow) -> str:
    """Return a row as a JSON object, its values with all of their digits."""
    place: dict[str, object] = {"task": row.task, "store": row.store, "kind": row.kind}
    if row.time is not None:
        place["time"] = moment_text(row.time)
    return f'{json.dumps(place, ensure_ascii=False)[:-1]}, "row": {row.row.decode()}}}'


def _print(console: Console, rows: Sequence[StateRow]) -> None:
    for (store, kind, timed), group in groupby(rows, lambda row: (row.store, row.kind, row.time is not None)):
        alike = list(group)
        values = [_fields(row.row) for row in alike]
        names = list(dict.fromkeys(name for value in values for name in value))
        console.print(f"{store}: {kind}")
        table = new_table(console, "task", *(["event time"] if timed else []), *names)
        for row, value in zip(alike, values, strict=True):
            time = [] if row.time is None else [str(moment_text(row.time))]
            table.add_row(row.task, *time, *(_cell(value.get(name)) for name in names))
        console.print(table)


def _cell(value: msgspec.Raw | None) -> str:
    """Return the text of a JSON value, as it is written there: numbers have all of their digits."""
    if value is None:
        return ""
    text = bytes(value).decode()
    return str(json.loads(text)) if text.startswith('"') else text
