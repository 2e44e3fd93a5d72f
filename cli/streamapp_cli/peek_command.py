"""`streamapp peek`: some records of a stream, a JSON object a line, decoded as the app reads or writes them."""

import base64
import json
from pathlib import Path

from streamapp_cli.app_files import exit_with_error
from streamapp_cli.consoles import new_console
from streamapp_cli.moment_texts import moment_text
from streamapp_cli.plan_inputs import ask_counts, read_app
from streamapp_cli.print_problems import print_problems
from streamapp_core.plan.planner import plan as make_plan
from streamapp_runtime.errors import FAILURES
from streamapp_runtime.stream_sample import SampledRecord, sample_stream
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.registry import local_systems

READ, REFUSED = 0, 1


def peek_stream(file: Path, stream: str, *, rows: int, partition: int | None, offset: int | None) -> int:
    """Print some records of a stream of the app, and return the exit code."""
    parsed = read_app(file)
    result = make_plan(parsed, ask_counts(parsed.app, file), algorithms=installed_algorithm)
    if result.plan is None:
        print_problems(new_console(), file.stem, result.problems)
        return REFUSED
    systems = local_systems(file.absolute().parent)
    try:
        for record in sample_stream(result.plan, stream, systems, rows=rows, partition=partition, offset=offset):
            print(json.dumps(record_document(record), ensure_ascii=False))
    except FAILURES as failure:
        exit_with_error(str(failure), REFUSED)
    return READ


def record_document(record: SampledRecord) -> dict[str, object]:
    """Return a record as JSON has it, with its row as an object; bytes that are no text are in base64."""
    found: dict[str, object] = {"partition": record.partition, "offset": record.offset}
    if record.timestamp is not None:
        found["time"] = moment_text(record.timestamp)
        found["key"] = _text(record.key)
    if record.unreadable is not None:
        return found | {"unreadable": record.unreadable, "value": _text(record.value)}
    if record.deleted:
        found["deleted"] = True
    if record.deleted and record.row is None:
        return found
    return found | {"row": None if record.row is None else _row(record.row)}


def _row(row: bytes) -> object:
    try:
        return json.loads(row)
    except ValueError:
        return _text(row)


def _text(data: bytes | None) -> object:
    """Return bytes as a text; in base64 if they are none."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
