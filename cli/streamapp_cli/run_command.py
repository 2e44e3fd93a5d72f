"""`streamapp run`: an app on this machine, with its progress and its summary."""

from functools import partial
from pathlib import Path

from streamapp_cli.app_files import exit_with_error, read_app_text, state_folder
from streamapp_cli.command_options import Host, RunOutput
from streamapp_cli.early_spark import EarlySpark
from streamapp_cli.plan_inputs import parse_app
from streamapp_cli.run_pages import serve_run
from streamapp_cli.run_printer import JsonPrinter, RunPrinter, TextPrinter
from streamapp_cli.signals import interrupts
from streamapp_runtime.driver.run_app import Drain, Listener, MakeHost, run_app
from streamapp_runtime.driver.run_record import Summary
from streamapp_runtime.driver.start_run import RunRequest
from streamapp_runtime.errors import FAILURES, Drained, PlanRefused, SpecChanged
from streamapp_runtime.hosts.in_process_host import InProcessHost
from streamapp_runtime.hosts.process_host import ProcessHost
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.run_ids import new_run_id

FAILED, INTERRUPTED = 1, 130


def run_here(
    file: Path,
    *,
    state_dir: Path | None,
    fresh: bool,
    delete_outputs: bool,
    host: Host,
    master: str | None,
    output: RunOutput,
    quiet: bool,
    http_port: int | None,
    early: EarlySpark | None = None,
) -> int:
    """Run the app of a file to its end and return the exit code.

    `early` is what has been started for a local Spark (None: nothing is). `http_port` is that of its metrics and its
    status (0: a free one; None: there are none).
    """
    if delete_outputs and not fresh:
        exit_with_error("--delete-outputs goes with --fresh: a run that continues needs its outputs as they are")
    check_master(host, master)
    text = read_app_text(file)
    parsed = parse_app(file, text)
    name = parsed.app.metadata.name if parsed.app is not None else file.stem
    folder = file.absolute().parent
    request = RunRequest(
        text=text,
        folder=folder,
        state=state_folder(file, name, state_dir),
        fresh=fresh,
        run_id=new_run_id(),
        delete_outputs=delete_outputs,
    )
    printer = new_printer(output, name, quiet=quiet)
    make = make_host(host, folder, master, early)
    if http_port is None:
        return run_to_end(request, make, printer, early=early)
    namespace = (None if parsed.app is None else parsed.app.metadata.namespace) or "default"
    with serve_run(name, namespace, http_port, printer.serve) as progress:
        return run_to_end(request, make, printer, progress=progress, early=early)


def new_printer(output: RunOutput, name: str, *, quiet: bool) -> RunPrinter:
    """Return what prints what happens to the run of an app."""
    return (JsonPrinter if output is RunOutput.JSON else TextPrinter)(name, quiet=quiet)


def check_master(host: Host, master: str | None) -> None:
    """End the program if a cluster of Spark is named for processors that are not on Spark."""
    if master is not None and host is not Host.SPARK:
        exit_with_error(f"--master is a cluster of Spark, and --host {host} is none: leave one of them out")


def run_to_end(
    request: RunRequest,
    host: MakeHost,
    printer: RunPrinter,
    *,
    changed: str | None = None,
    progress: Listener | None = None,
    early: EarlySpark | None = None,
) -> int:
    """Run an app until it ends or is stopped, print what happens, and return the exit code.

    `changed` is what is said, in place of the failure's own words, if its run began with another spec. `progress` is
    another listener beside the printer. Of a run that completes, `early` is told.
    """
    try:
        with interrupts() as stop_wanted:
            summary = run_and_print(request, host, printer, stop_wanted, progress)
    except PlanRefused as refused:
        printer.refuse(refused.problems)
        if isinstance(refused.__cause__, StreamSystemError):
            printer.fail(str(refused.__cause__))
        return FAILED
    except FAILURES as failure:
        printer.fail(changed if changed is not None and isinstance(failure, SpecChanged) else str(failure))
        return FAILED
    except Drained as drained:
        printer.stop(str(drained))
        return INTERRUPTED
    except KeyboardInterrupt:
        printer.stop("interrupted; start it again to continue")
        return INTERRUPTED
    printer.complete(summary)
    if early is not None:
        early.prepare_next()
    return 0


def run_and_print(
    request: RunRequest, host: MakeHost, printer: RunPrinter, drain: Drain, progress: Listener | None = None
) -> Summary:
    """Run an app to its end, its progress printed and given to `progress`, or until `drain` asks for a stop.

    Raises:
        PlanRefused, RuntimeFailure, StreamSystemError, Drained: see `run_app`.
    """
    with printer.follow() as printed:

        def listener(summary: Summary) -> None:
            printed(summary)
            if progress is not None:
                progress(summary)

        return run_app(request, host, listener, drain=drain, announce=printer.announce, warn=printer.warn)


def make_host(host: Host, folder: Path, master: str | None, early: EarlySpark | None = None) -> MakeHost:
    """Return what makes a host of this kind for an app in a folder; `master` is Spark's, None: local.

    `early` is what has been started for a local Spark.
    """
    if host is Host.SPARK:
        from streamapp_runtime.spark.spark_host import SparkHost

        if early is None:
            return partial(SparkHost, folder=folder, master=master)
        return partial(SparkHost, folder=folder, master=master, start_early=early.take)
    if host is Host.PROCESSES:
        return lambda channel, app, log_folder: ProcessHost(channel, log_folder)  # noqa: ARG005 - needs no app
    return lambda channel, app, log_folder: InProcessHost(channel)  # noqa: ARG005 - needs no more
