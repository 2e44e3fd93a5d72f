"""`streamapp init`: a first app of data that is there, with its format, columns, event time and key guessed."""

from pathlib import Path

from pydantic import ValidationError

from streamapp_cli.app_files import exit_with_error
from streamapp_cli.consoles import new_console
from streamapp_cli.plan_inputs import ask_counts
from streamapp_cli.print_problems import print_problems
from streamapp_core.inference.draft import Draft, label_of, write_draft
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.problems import Problem
from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.systems import SystemSpec
from streamapp_runtime.errors import FAILURES
from streamapp_runtime.inference.draft_app import draft_apps
from streamapp_runtime.inference.file_sample import sample_files
from streamapp_runtime.inference.source_sample import SourceSample
from streamapp_runtime.inference.table_sample import is_table, sample_table
from streamapp_runtime.inference.topic_sample import sample_topic
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.registry import local_systems

WRITTEN, REFUSED = 0, 1


def init_app(
    source: str,
    *,
    file: Path,
    name: str | None,
    brokers: str | None,
    registry: str | None,
    config: tuple[str, ...],
    rows: int,
    force: bool,
) -> int:
    """Write an app that reads a source, and return the exit code."""
    if file.exists() and not force:
        exit_with_error(f"{file} is there already: name another file (--file), or replace it (--force)", REFUSED)
    system = _kafka(brokers, registry, config)
    folder = file.absolute().parent
    try:
        if system is not None:
            sample = sample_topic(source, system, local_systems(folder), rows)
        elif is_table(source):
            sample = sample_table(source, folder, rows)
        else:
            sample = sample_files(source, folder, rows)
    except FAILURES as failure:
        exit_with_error(str(failure), REFUSED)
    problems: tuple[Problem, ...] = ()
    for draft in draft_apps(sample, name or label_of(sample.label)):
        text = write_draft(draft)
        problems = _problems(text, file)
        if not problems:
            _write(file, text)
            _print(sample, draft, file)
            return WRITTEN
    print_problems(new_console(), name or label_of(sample.label), problems)
    return REFUSED


def _kafka(brokers: str | None, registry: str | None, config: tuple[str, ...]) -> SystemSpec | None:
    """Return the cluster that options name; None without one."""
    if brokers is None:
        if registry is not None or config:
            exit_with_error("--schema-registry and --config are for topics: say where they are (--bootstrap-servers)")
        return None
    settings = dict(_setting(each) for each in config)
    kafka: dict[str, object] = {"bootstrapServers": brokers}
    if settings:
        kafka["config"] = settings
    if registry is not None:
        kafka["schemaRegistry"] = {"url": registry}
    try:
        return SystemSpec.model_validate({"kafka": kafka})
    except ValidationError as error:
        first = error.errors()[0]
        exit_with_error(f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}")


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        exit_with_error(f"--config {text}: write a setting as NAME=VALUE")
    return name, value


def _problems(text: str, file: Path) -> tuple[Problem, ...]:
    """Return what a plan of this text has against it, as if it stood in the file."""
    parsed = parse_text(text)
    return make_plan(parsed, ask_counts(parsed.app, file), algorithms=installed_algorithm).problems


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        exit_with_error(f"{file}: {error.strerror}")


def _print(sample: SourceSample, draft: Draft, file: Path) -> None:
    console = new_console()
    console.print(f"{file}: reads {draft.stream_name}, {len(draft.schema.columns)} columns")
    if sample.unreadable:
        console.print(f"{len(sample.unreadable):,} sampled records can't be read: the file says what can be done")
    if sample.left_out:
        console.print(f"{len(sample.left_out):,} columns are left out: the file says which")
    console.print("Look at what was guessed in the file, then:")
    console.print(f"  streamapp plan {file}")
    console.print(f"  streamapp run {file} --host in-process")
    shown = "results" if not sample.bounded else draft.stream_name
    console.print(f"  streamapp peek {file} {shown}")
    if sample.bounded:
        console.print(f"The results are in {file.parent / 'results' / draft.app}.")
