"""The commands that run apps here: `streamapp run`, `replay` and `dev`."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from streamapp_cli.command_options import AppFile, Host, ReplayOutputs, RunOutput
from streamapp_cli.runtime_imports import runtime_imports
from streamapp_cli.signals import quiet_interrupts

HostOption = Annotated[
    Host, typer.Option(help="Where processors run: workers of Spark, processes of their own, or threads of this one.")
]
MasterOption = Annotated[
    str | None, typer.Option(help="Run processors on a standalone cluster of Spark: spark://HOST:PORT.")
]
OutputOption = Annotated[RunOutput, typer.Option(help="How to print what happens.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print problems and errors alone; with --output json no progress.")
]


def add_run_commands(app: typer.Typer) -> None:
    """Add the commands that run apps to the command line."""
    app.command()(run)
    app.command(short_help="Run an app once more, from a time or offsets, beside the one that runs.")(replay)
    app.command(short_help="Run an app here, and again at each save of its files.")(dev)


def run(
    file: AppFile,
    *,
    state_dir: Annotated[
        Path | None, typer.Option(help="Where the app keeps its state (default: .streamapp/<app> beside the file).")
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help="Begin a new run: delete earlier ones, with their results in files. Those in logs and Kafka stay.",
        ),
    ] = False,
    delete_outputs: Annotated[
        bool,
        typer.Option(
            "--delete-outputs",
            help="With --fresh: delete all records of the app's outputs in logs and Kafka, too. Never those of inputs.",
        ),
    ] = False,
    host: HostOption = Host.SPARK,
    master: MasterOption = None,
    output: OutputOption = RunOutput.TEXT,
    quiet: QuietOption = False,
    http_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65_535,
            help="Serve /metrics (Prometheus) and /status (JSON) to this machine while it runs; 0: on a free port.",
        ),
    ] = None,
) -> None:
    """Run an app here, on local Spark. A bounded app ends by itself; a completed one prints its summary again.

    With --fresh it says first what it deletes, and which outputs stay. With --output json each line is an object whose
    "event" is serving, freshStart, refused, progress (every 2 s), failed, stopped or completed.

    Ctrl-C (or SIGTERM) stops it after a last commit, a second one at once; started again, it continues.

    Exit codes: 0 completed, 1 refused or failed, 2 the file can't be read, 130 stopped before its end.
    """
    with ExitStack() as stack:
        with quiet_interrupts(), runtime_imports():
            early = None
            if host is Host.SPARK and master is None:
                from streamapp_cli.early_spark import early_spark

                early = stack.enter_context(early_spark(file, state_dir=state_dir, fresh=fresh))
            from streamapp_cli.run_command import run_here

        code = run_here(
            file,
            state_dir=state_dir,
            fresh=fresh,
            delete_outputs=delete_outputs,
            host=host,
            master=master,
            output=output,
            quiet=quiet,
            http_port=http_port,
            early=early,
        )
    raise typer.Exit(code)


def replay(
    file: AppFile,
    *,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="TIME|STREAM:PARTITION=OFFSET|earliest",
            help="Where to begin: a time such as 2026-01-01T00:00:00Z, offsets of partitions, or both (default: "
            "earliest).",
        ),
    ] = None,
    until: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            metavar="TIME|STREAM:PARTITION=OFFSET",
            help="Where to end, before the first record of that time or offset (default: at the present ends).",
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with what comes, without an end.")] = False,
    run_id: Annotated[
        str | None,
        typer.Option(help="The replay's run id, and the end of its name; one that was interrupted continues by it."),
    ] = None,
    outputs: Annotated[
        ReplayOutputs,
        typer.Option(help="Write to outputs of its own, the run id behind their names, or to those of the live app."),
    ] = ReplayOutputs.RENAMED,
    write_only: Annotated[
        bool, typer.Option("--print", help="Print the app of the replay (YAML) and run nothing: `... | kubectl apply`.")
    ] = False,
    host: HostOption = Host.SPARK,
    master: MasterOption = None,
    output: OutputOption = RunOutput.TEXT,
    quiet: QuietOption = False,
) -> None:
    """Run an app once more, over a part of what its inputs hold: a new run, with state and outputs of its own.

    The app that runs, here or elsewhere, is not disturbed. Times are those of the records, not event times. Side
    inputs, files, tables, streams of changes and what fills tables are read from their beginning.

    Exit codes: 0 completed, 1 refused or failed, 2 wrong options or the file can't be read, 130 stopped before its end.
    """
    with quiet_interrupts(), runtime_imports():
        from streamapp_cli.replay_command import replay_app

    code = replay_app(
        file,
        start=start or (),
        until=until or (),
        follow=follow,
        run_id=run_id,
        outputs=outputs,
        write_only=write_only,
        host=host,
        master=master,
        output=output,
        quiet=quiet,
    )
    raise typer.Exit(code)


def dev(
    file: AppFile,
    *,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Begin a new run, at once and with each edit that a run can't take: delete the one before."
        ),
    ] = False,
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH|all",
            help="Read only what came to Kafka and logs in the last 10m, say; show each operator's rows, write "
            "nothing else.",
        ),
    ] = None,
    page: Annotated[
        int | None,
        typer.Option(
            "--page", metavar="PORT", min=0, max=65_535, help="Serve a page for a browser here: graph, rates, rows."
        ),
    ] = None,
) -> None:
    """Run an app here, and again at each save of its file, its schema files, or Python beside or below it.

    What is saved is planned first: as long as it has problems, they are printed, and the run that there is goes on. It
    goes on with its state where it can take the edit: of code, and of settings. Other edits it can't take, nor any
    once it has completed: then --fresh begins a new run. Processors are processes of this machine.

    With --sample each run is one of a copy of the app that reads its inputs to their present ends and writes to a log
    below .streamapp, not to outputs: what each operator makes of the sample is printed and is on the page.

    Exit codes: 0 ended by Ctrl-C, 2 the file can't be read, 130 ended by a second Ctrl-C.
    """
    with quiet_interrupts(), runtime_imports():
        from streamapp_cli.dev_command import develop_file

    raise typer.Exit(develop_file(file, fresh=fresh, page=page, sample=sample))
