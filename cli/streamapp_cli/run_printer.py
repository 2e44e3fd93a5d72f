"""Printers of a run: one for people, and one of JSON lines for programs."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TextIO

import msgspec
from pydantic.alias_generators import to_camel

from streamapp_cli.app_files import print_error
from streamapp_cli.consoles import new_console
from streamapp_cli.print_fresh_start import deleted_lines, kept_lines, print_fresh_start
from streamapp_cli.print_problems import print_problems, print_warnings
from streamapp_cli.progress_display import LINE_SECONDS, follow, print_summary
from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_core.plan.render import problem_document, warning_document
from streamapp_core.problems import PlanWarning, Problem
from streamapp_runtime.driver.fresh_start import FreshStart
from streamapp_runtime.driver.run_record import Summary


class RunPrinter(Protocol):
    """Prints what happens to a run."""

    def follow(self) -> AbstractContextManager[Callable[[Summary], None]]:
        """Yield the listener to its progress."""
        ...

    def announce(self, start: FreshStart) -> None:
        """Print what its start is about to delete."""
        ...

    def warn(self, warnings: Sequence[PlanWarning]) -> None:
        """Print what it is about to do that is rarely wanted."""
        ...

    def serve(self, address: str) -> None:
        """Print where its pages are: the address of a server."""
        ...

    def refuse(self, problems: Sequence[Problem]) -> None:
        """Print why it was not started."""
        ...

    def fail(self, message: str) -> None:
        """Print why it has ended before its end."""
        ...

    def stop(self, message: str) -> None:
        """Print that it was stopped."""
        ...

    def complete(self, summary: Summary) -> None:
        """Print that it has come to its end."""
        ...


class TextPrinter:
    """Prints for people: errors to standard error, and all else to standard output unless it is `quiet`."""

    def __init__(self, name: str, *, quiet: bool) -> None:
        """Take the name of the app."""
        self._name = name
        self._quiet = quiet
        self._console = new_console()

    @contextmanager
    def follow(self) -> Iterator[Callable[[Summary], None]]:
        """See `RunPrinter.follow`."""
        if self._quiet:
            yield lambda _: None
        else:
            with follow(self._console, self._name) as listener:
                yield listener

    def announce(self, start: FreshStart) -> None:
        """See `RunPrinter.announce`."""
        if not self._quiet:
            print_fresh_start(self._console, self._name, start)

    def warn(self, warnings: Sequence[PlanWarning]) -> None:
        """See `RunPrinter.warn`."""
        if not self._quiet:
            print_warnings(self._console, warnings)

    def serve(self, address: str) -> None:
        """See `RunPrinter.serve`."""
        if not self._quiet:
            self._console.print(f"{self._name}: {address}/metrics and {address}/status")

    def refuse(self, problems: Sequence[Problem]) -> None:
        """See `RunPrinter.refuse`."""
        print_problems(self._console, self._name, problems)

    def fail(self, message: str) -> None:
        """See `RunPrinter.fail`."""
        print_error(f"{self._name}: {message}")

    def stop(self, message: str) -> None:
        """See `RunPrinter.stop`."""
        if not self._quiet:
            self._console.print(f"{self._name}: {message}")

    def complete(self, summary: Summary) -> None:
        """See `RunPrinter.complete`."""
        if not self._quiet:
            print_summary(self._console, self._name, summary)
            return
        for notice in summary.notices:
            if notice.reason == NoticeReason.INPUTS_CHANGED:  # nothing was run, and nothing else says so
                new_console(sys.stderr).print(f"{self._name}: {notice.message}")


class JsonPrinter:
    """Prints a JSON object on a line for each event of a run: the field `event` says which; `app` is its name.

    If it is `quiet`, there are no lines of progress. `clock` returns seconds.
    """

    def __init__(
        self, name: str, *, quiet: bool, file: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the name of the app."""
        self._name = name
        self._quiet = quiet
        self._file = file or sys.stdout
        self._clock = clock

    @contextmanager
    def follow(self) -> Iterator[Callable[[Summary], None]]:
        """See `RunPrinter.follow`."""
        printed = self._clock()

        def listen(summary: Summary) -> None:
            nonlocal printed
            if not self._quiet and (now := self._clock()) - printed >= LINE_SECONDS:
                printed = now
                self._print("progress", **_document(summary))

        yield listen

    def announce(self, start: FreshStart) -> None:
        """See `RunPrinter.announce`."""
        self._print("freshStart", deletes=list(deleted_lines(start)), keeps=list(kept_lines(start)))

    def warn(self, warnings: Sequence[PlanWarning]) -> None:
        """See `RunPrinter.warn`."""
        if warnings:
            self._print("warned", warnings=[warning_document(warning) for warning in warnings])

    def serve(self, address: str) -> None:
        """See `RunPrinter.serve`."""
        self._print("serving", address=address)

    def refuse(self, problems: Sequence[Problem]) -> None:
        """See `RunPrinter.refuse`."""
        self._print("refused", problems=[problem_document(problem) for problem in problems])

    def fail(self, message: str) -> None:
        """See `RunPrinter.fail`. Standard error has the message, too."""
        self._print("failed", message=message)
        print_error(f"{self._name}: {message}")

    def stop(self, message: str) -> None:
        """See `RunPrinter.stop`."""
        self._print("stopped", message=message)

    def complete(self, summary: Summary) -> None:
        """See `RunPrinter.complete`."""
        self._print("completed", **_document(summary))

    def _print(self, event: str, **values: object) -> None:
        print(json.dumps({"event": event, "app": self._name, **values}), file=self._file, flush=True)


def _document(value: object) -> Any:  # noqa: ANN401 - JSON
    """Return values as JSON has them: fields in camel case, and the keys of mappings, which are names, as they are."""
    if isinstance(value, msgspec.Struct):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return {to_camel(name): _document(field) for name, field in fields}
    if isinstance(value, dict):
        return {str(name): _document(item) for name, item in value.items()}
    return [_document(item) for item in value] if isinstance(value, tuple | list) else value
