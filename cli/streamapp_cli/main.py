"""The command line: `streamapp` with its commands.

Commands import what they need when they are called, so that planning starts no data libraries.
"""

from importlib.metadata import version as version_of
from pathlib import Path
from typing import Annotated

import typer

from streamapp_cli.command_options import AppFile, Output, TableOutput
from streamapp_cli.run_commands import add_run_commands
from streamapp_cli.runtime_imports import runtime_imports

app = typer.Typer(
    name="streamapp",
    help="Stateful streaming apps from one YAML file.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"streamapp {version_of('streamapp-operator')}")
        raise typer.Exit


@app.callback()
def _commands(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Stateful streaming apps from one YAML file."""


@app.command(short_help="Write a first app that reads data which is there.")
def init(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A file, a folder or a pattern of files of CSV, JSON lines or Parquet, a table of Delta, or a topic.",
        ),
    ],
    *,
    file: Annotated[Path, typer.Option("--file", "-f", help="The app to write.")] = Path("app.yaml"),
    name: Annotated[str | None, typer.Option(help="The name of the app; default: that of the source.")] = None,
    bootstrap_servers: Annotated[
        str | None, typer.Option(metavar="HOST:PORT,...", help="The brokers of Kafka: SOURCE is a topic of theirs.")
    ] = None,
    schema_registry: Annotated[
        str | None, typer.Option(metavar="URL", help="The registry with the schemas of Avro and Protobuf.")
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting of the Kafka client, by its name in librdkafka."),
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", "-n", min=1, max=100_000, help="How many rows of a partition are read.")
    ] = 1_000,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
) -> None:
    """Write a first app that reads data which is there: its format, columns, event time and key are guessed.

    A sample is read: the first rows of some files, the newest of a topic. Comments in the app say what was guessed, and
    from what. What is written has been planned, and read the sample.

    Exit codes: 0 written, 1 nothing is written: the file is there, or the source can't be read, 2 wrong options.
    """
    with runtime_imports():
        from streamapp_cli.init_command import init_app

    raise typer.Exit(
        init_app(
            source,
            file=file,
            name=name,
            brokers=bootstrap_servers,
            registry=schema_registry,
            config=tuple(config or ()),
            rows=rows,
            force=force,
        )
    )


@app.command(short_help="Plan an app, or list everything that is wrong with it.")
def plan(
    file: AppFile,
    *,
    streams: Annotated[
        Path | None, typer.Option(help="Partition counts of the streams (JSON), instead of asking.")
    ] = None,
    previous: Annotated[Path | None, typer.Option(help="The active job model (JSON).")] = None,
    processors: Annotated[Path | None, typer.Option(help="The live processors and their locations (JSON).")] = None,
    defaults: Annotated[
        Path | None, typer.Option(help="The defaults that a cluster's administrator has set (YAML), below the spec.")
    ] = None,
    output: Annotated[Output, typer.Option(help="How to print the plan.")] = Output.TABLE,
    types: Annotated[
        bool, typer.Option("--types", help="With mermaid: write the type of the rows on every arrow.")
    ] = False,
) -> None:
    """Plan an app, exactly as the Kubernetes operator does, or list everything that is wrong with it.

    Exit codes: 0 accepted, 1 refused, 2 a file can't be read.
    """
    from streamapp_cli.plan_command import plan_app

    raise typer.Exit(
        plan_app(
            file,
            streams=streams,
            previous=previous,
            processors=processors,
            defaults=defaults,
            output=output,
            types=types,
        )
    )


@app.command(short_help="Show what a new spec would do to a running app.")
def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD.yaml", help="The StreamApp resource that runs.")],
    new: Annotated[Path, typer.Argument(metavar="NEW.yaml", help="The StreamApp resource that is to run.")],
    previous: Annotated[
        Path | None, typer.Option(help="The active job model (JSON), instead of one planned from OLD.yaml.")
    ] = None,
    streams: Annotated[
        Path | None, typer.Option(help="Partition counts of the streams (JSON), instead of asking.")
    ] = None,
    output: Annotated[TableOutput, typer.Option(help="How to print the comparison.")] = TableOutput.TABLE,
) -> None:
    """Show what a new spec would do to a running app: the class of each edit, tasks that move, streams that are made.

    Exit codes: 0 accepted, 1 refused, 2 a file can't be read.
    """
    from streamapp_cli.diff_command import diff_apps

    raise typer.Exit(diff_apps(old, new, streams=streams, previous=previous, output=output))


@app.command("test", short_help="Run the unit tests of an app.")
def run_unit_tests(
    file: AppFile,
    *,
    tests: Annotated[
        Path | None, typer.Option(help="The file of tests (YAML); default: APP.tests.yaml beside APP.yaml.")
    ] = None,
    wanted: Annotated[str, typer.Option("-k", metavar="TEXT", help="Only tests with this in their names.")] = "",
    once: Annotated[
        bool, typer.Option("--once", help="Run each test once, as the app is, not in other circumstances as well.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="How many runs at the same time; default: one a core.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds after which an app that has not ended failed.")] = 120,
    junit: Annotated[Path | None, typer.Option(help="Write the results into this file, too (JUnit XML).")] = None,
) -> None:
    """Run the unit tests of an app: of the rows given to its streams it must write those expected, whatever happens.

    Each test is run in processes of its own, with embedded logs and files in place of Kafka and other systems; then
    with other batches, processors, partitions and orders of arrival, and killed before each step of a commit.

    Exit codes: 0 all passed, 1 some failed, or app or tests are refused, 2 a file can't be read, 130 interrupted.
    """
    with runtime_imports():
        from streamapp_cli.test_command import run_app_tests

    raise typer.Exit(
        run_app_tests(file, tests=tests, wanted=wanted, once=once, jobs=jobs, timeout=timeout, junit=junit)
    )


add_run_commands(app)


@app.command(short_help="Print some records of a stream, decoded.")
def peek(
    file: AppFile,
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="One of spec.streams.")],
    *,
    rows: Annotated[
        int, typer.Option("--rows", "-n", min=1, max=100_000, help="How many records of a partition.")
    ] = 10,
    partition: Annotated[int | None, typer.Option(min=0, help="One partition instead of all.")] = None,
    offset: Annotated[
        int | None, typer.Option(min=0, help="From this offset on, instead of the last records (of files the first).")
    ] = None,
) -> None:
    """Print some records of a stream, a JSON object a line, as the app reads or writes them.

    Records have their partition, offset, time and key, and their "row", "deleted", or why they are "unreadable". Only
    what is committed is read, and no reader is disturbed.

    Exit codes: 0 read, 1 the app is refused or the stream can't be read, 2 the file can't be read.
    """
    with runtime_imports():
        from streamapp_cli.peek_command import peek_stream

    raise typer.Exit(peek_stream(file, stream, rows=rows, partition=partition, offset=offset))


@app.command(short_help="Print the rows that an operator or a table holds.")
def state(
    file: AppFile,
    name: Annotated[str, typer.Argument(metavar="TABLE_OR_OPERATOR", help="One that keeps state.")],
    key: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY", help="Only rows of this key: a value for each column of it, as printed."),
    ] = None,
    *,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, max=100_000, help="How many rows at most.")] = 20,
    state_dir: Annotated[
        Path | None,
        typer.Option(help="Where the app keeps tables of side inputs (default: .streamapp/<app> beside the file)."),
    ] = None,
    output: Annotated[
        TableOutput, typer.Option(help="Tables, or a JSON object a line for each row.")
    ] = TableOutput.TABLE,
) -> None:
    """Print the rows that an operator or a table of an app holds: groups, open windows, sides of joins, values, timers.

    They are read from the app's changelog, as of the last commits: it may be running, here, elsewhere or on Kubernetes.
    A table that side inputs fill has none: it is read from the folder of an app that does not run.

    Exit codes: 0 read, 1 the app is refused, has no run, or keeps no such state, 2 the file can't be read.
    """
    with runtime_imports():
        from streamapp_cli.state_command import print_state

    raise typer.Exit(print_state(file, name, key or (), rows=rows, state_dir=state_dir, output=output))


@app.command(short_help="Compare the state of a stopped app with its changelog.")
def verify(
    file: AppFile,
    state_dir: Annotated[
        Path | None, typer.Option(help="Where the app keeps its state (default: .streamapp/<app> beside the file).")
    ] = None,
) -> None:
    """Compare the state of an app that is not running with its changelog, task by task, entry by entry.

    Exit codes: 0 equal, 1 something differs or can't be compared, 2 the file can't be read.
    """
    with runtime_imports():
        from streamapp_cli.verify_command import verify_app

    raise typer.Exit(verify_app(file, state_dir=state_dir))


@app.command(short_help="Print how far an app is behind the ends of its streams.")
def lag(
    file: AppFile,
    *,
    output: Annotated[
        TableOutput, typer.Option(help="A table, or a JSON object a line for each partition.")
    ] = TableOutput.TABLE,
) -> None:
    """Print how far the last commits of an app are behind the ends of the partitions that it reads.

    They are read from the app's changelog: it may be running, here, elsewhere or on Kubernetes. In Kafka, the end of
    each transaction takes an offset, too.

    Exit codes: 0 read, 1 the app is refused, has no run, or can't be asked, 2 the file can't be read.
    """
    with runtime_imports():
        from streamapp_cli.lag_command import print_lag

    raise typer.Exit(print_lag(file, output=output))


@app.command(short_help="Print an app as one resource for Kubernetes, with the texts of its schema files.")
def bundle(file: AppFile) -> None:
    """Print an app as one resource (JSON) with the texts of the schema files that it names: `... | kubectl apply -f -`.

    Exit codes: 0 printed, 1 it has problems, 2 the file can't be read.
    """
    from streamapp_cli.bundle_command import bundle_app

    raise typer.Exit(bundle_app(file))


@app.command(short_help="Print the JSON schema of StreamApp files, for editors.")
def schema(
    *,
    of_tests: Annotated[
        bool, typer.Option("--tests", help="That of files of tests, as `streamapp test` runs.")
    ] = False,
) -> None:
    """Print the JSON schema of StreamApp files: editors complete, explain and check fields by it while you type.

    Save it, and name it in the first line of an app: `# yaml-language-server: $schema=streamapp.schema.json`.
    """
    import json

    from streamapp_core.app_tests.app_test import AppTestFile
    from streamapp_core.spec.json_schema import app_json_schema, editor_schema

    found = editor_schema(AppTestFile, "Tests of a StreamApp") if of_tests else app_json_schema()
    print(json.dumps(found, indent=2))


def main() -> None:
    """Run the command that the arguments name."""
    app()
