"""`streamapp plan`: what would run, or everything that is wrong, without running anything."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.text import Text

from streamapp_cli.app_files import exit_with_error, print_error
from streamapp_cli.command_options import Output
from streamapp_cli.consoles import new_console
from streamapp_cli.plan_inputs import (
    WITHOUT_ASKING,
    ask_schema_problems,
    find_counts,
    read_app,
    read_completed_app,
    read_counts,
    read_job_model,
    read_processors,
)
from streamapp_cli.print_plan import print_plan
from streamapp_cli.print_problems import print_problems, print_warnings
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan, PlanResult
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.plan.render import to_document, to_mermaid
from streamapp_core.spec.parse import ParsedApp
from streamapp_runtime.asked_systems import explain_missing_streams, find_problems_without_counts
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.registry import local_systems

ACCEPTED, REFUSED = 0, 1


def plan_app(
    file: Path,
    *,
    streams: Path | None,
    previous: Path | None,
    processors: Path | None,
    defaults: Path | None,
    output: Output,
    types: bool,
) -> int:
    """Plan the app of a file, print the plan or its problems, and return the exit code."""
    parsed, taken = (read_app(file), {}) if defaults is None else read_completed_app(file, defaults)
    try:
        counts = find_counts(parsed.app, file) if streams is None else read_counts(streams)
    except StreamSystemError as error:
        return _refuse_without_counts(parsed, file, output, taken, error)
    before = None if previous is None else read_job_model(previous)
    live = None if processors is None else read_processors(processors)
    result = make_plan(parsed, counts, before, algorithms=installed_algorithm)
    if result.plan is None and streams is None:
        found = explain_missing_streams(result.problems, parsed.app, local_systems(file.absolute().parent))
        result = PlanResult(plan=None, problems=found)
    if result.plan is not None and streams is None:
        problems = ask_schema_problems(result.plan, file)
        result = PlanResult(plan=None, problems=problems) if problems else result
    if result.plan is not None and _has_code(result.plan):
        result = _check_code(result.plan, file, found_elsewhere=streams is not None) or result
    model = None if result.plan is None else build_job_model(result.plan, before, live)
    _print(_name(parsed, file), result, model, output, taken, types=types)
    return REFUSED if result.plan is None else ACCEPTED


def _refuse_without_counts(
    parsed: ParsedApp, file: Path, output: Output, taken: Mapping[str, Any], error: StreamSystemError
) -> int:
    """Print what is wrong with an app whose systems can't be asked, and the error, and return the exit code."""
    problems = find_problems_without_counts(parsed)
    if not problems:
        exit_with_error(f"{error}\n{WITHOUT_ASKING}")
    _print(_name(parsed, file), PlanResult(plan=None, problems=problems), None, output, taken, types=False)
    print_error(f"{error}\n{WITHOUT_ASKING}")
    return REFUSED


def _has_code(plan: Plan) -> bool:
    spec = plan.app.spec
    processes = any(operator.process is not None for operator in spec.operators)
    extractors = any(table.extractor is not None for table in spec.tables.values())
    return processes or extractors or bool(spec.functions or spec.py_files)


def _check_code(plan: Plan, file: Path, *, found_elsewhere: bool) -> PlanResult | None:
    """Return the refusal of an app whose code can't be imported here; it is a note if the app may run elsewhere."""
    from streamapp_runtime.functions.function_loader import find_code_problems

    problems = find_code_problems(plan, file.absolute().parent)
    if problems and not found_elsewhere:
        return PlanResult(plan=None, problems=problems)
    for problem in problems:
        print(f"not found here, so not checked: {problem.path}: {problem.message}", file=sys.stderr)
    return None


def _name(parsed: ParsedApp, file: Path) -> str:
    return file.stem if parsed.app is None else parsed.app.metadata.name


def _print(
    name: str, result: PlanResult, model: JobModel | None, output: Output, taken: Mapping[str, Any], *, types: bool
) -> None:
    console = new_console()
    if output is Output.JSON:
        document = to_document(result, None if model is None else model.to_document())
        print(json.dumps(document | ({"defaults": taken} if taken else {}), indent=2))
    elif result.plan is None or model is None:
        print_problems(console, name, result.problems)
    elif output is Output.MERMAID:
        print(to_mermaid(result.plan, types=types), end="")
    else:
        print_plan(console, result.plan, model)
        print_warnings(console, result.plan.warnings)
        if taken:
            console.print(Text(f"defaults of the cluster: {json.dumps(taken)}"))
