"""`streamapp bundle`: an app as one resource that needs no other files, for Kubernetes."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from streamapp_cli.app_files import read_app_text
from streamapp_cli.consoles import new_console
from streamapp_cli.plan_inputs import parse_app
from streamapp_cli.print_problems import print_problems
from streamapp_core.plan.message_schemas import missing_file_problem
from streamapp_core.problems import Problem, sorted_problems
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.yaml_document import read_document

WRITTEN, REFUSED = 0, 1


def bundle_app(file: Path) -> int:
    """Print the resource of a file with the texts of the files that it names, as JSON, and return the exit code."""
    text = read_app_text(file)
    parsed = parse_app(file, text)
    missing = () if parsed.app is None else _missing_files(parsed.app)
    problems = sorted_problems((*parsed.problems, *missing))
    if problems:
        print_problems(new_console(sys.stderr), file.stem, problems)
        return REFUSED
    print(json.dumps(read_document(text)[0], indent=2, ensure_ascii=False))
    return WRITTEN


def _missing_files(app: StreamApp) -> Iterator[Problem]:
    for name, stream in app.spec.streams.items():
        if stream.avro.schema_file is not None and stream.avro.record_schema is None:
            yield missing_file_problem(name, "avro", stream.avro.schema_file)
        if stream.protobuf.schema_file is not None and stream.protobuf.message_schema is None:
            yield missing_file_problem(name, "protobuf", stream.protobuf.schema_file)
