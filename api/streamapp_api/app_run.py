"""Runs of apps that are written in Python."""

from dataclasses import dataclass
from pathlib import Path

from streamapp_api.app_result import AppResult
from streamapp_cli.command_options import Host
from streamapp_cli.run_command import make_host, run_and_print
from streamapp_cli.run_printer import TextPrinter
from streamapp_cli.signals import interrupts
from streamapp_core.naming import local_run_path
from streamapp_runtime.driver.start_run import RunRequest
from streamapp_systems.run_ids import new_run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of a run: the options of `streamapp run`."""

    host: Host
    master: str | None
    fresh: bool
    delete_outputs: bool
    quiet: bool


def run_text(text: str, name: str, folder: Path, settings: RunSettings) -> AppResult:
    """Run the text of an app to its end, and print its progress.

    Raises:
        ValueError: settings that don't go together.
        PlanRefused, RuntimeFailure, StreamSystemError, Drained: see `run_app`.
    """
    if settings.delete_outputs and not settings.fresh:
        raise ValueError("`delete_outputs` goes with `fresh`: a run that continues needs its outputs as they are")
    if settings.master is not None and settings.host is not Host.SPARK:
        raise ValueError(f"`master` is a cluster of Spark, and the host {settings.host} is none: leave one of them out")
    request = RunRequest(
        text=text,
        folder=folder,
        state=folder / local_run_path(name),
        fresh=settings.fresh,
        run_id=new_run_id(),
        delete_outputs=settings.delete_outputs,
    )
    printer = TextPrinter(name, quiet=settings.quiet)
    with interrupts() as stop_wanted:
        summary = run_and_print(request, make_host(settings.host, folder, settings.master), printer, stop_wanted)
    printer.complete(summary)
    return AppResult(summary=summary, text=text, folder=folder)
