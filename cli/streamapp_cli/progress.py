"""How far a run is: a live table on a terminal, plain lines elsewhere; and the summary at its end."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from streamapp_core.control.messages import END_OF_TIME
from streamapp_runtime.driver.records import StreamSummary, Summary

_LINE_SECONDS = 2.0
_SIDE_INPUT = "sideInput"


@contextmanager
def follow(console: Console, name: str) -> Iterator[Callable[[Summary], None]]:
    """Give what is to be told of the progress of a run; it prints until the block ends."""
    if console.is_terminal:
        with Live(console=console, transient=True, refresh_per_second=4) as live:
            live.update(f"{name}: starting")
            yield lambda summary: live.update(progress_table(name, summary))
    else:
        yield _Lines(console, name, time.monotonic)


class _Lines:
    """Prints a line now and then."""

    def __init__(self, console: Console, name: str, clock: Callable[[], float]) -> None:
        self._console = console
        self._name = name
        self._clock = clock
        self._printed = clock()

    def __call__(self, summary: Summary) -> None:
        if self._clock() - self._printed < _LINE_SECONDS:
            return
        self._printed = self._clock()
        streams = "; ".join(
            f"{stream.name} {read_of_total(stream)}, watermark {watermark_text(stream.watermark)}, "
            f"ended {ended_text(stream)}"
            for stream in summary.streams
            if stream.role != _SIDE_INPUT or stream.ended < stream.partitions
        )
        self._console.print(f"{self._name} {summary.seconds:.0f}s: {streams}")


def progress_table(name: str, summary: Summary) -> Table:
    """Draw the streams: what was read of them, how fast, their watermarks, and what has ended."""
    table = Table(title=f"{name}: {summary.seconds:.0f} s", title_justify="left", box=box.SIMPLE)
    table.add_column("stream")
    for title in ("role", "read", "rows/s", "watermark", "ended"):
        table.add_column(title, justify="right")
    for stream in summary.streams:
        rate = stream.read / summary.seconds if summary.seconds else 0
        table.add_row(
            stream.name,
            stream.role,
            read_of_total(stream),
            f"{rate:,.0f}",
            "" if stream.role == _SIDE_INPUT else watermark_text(stream.watermark),
            ended_text(stream),
        )
    for output, rows in sorted(summary.written.items()):
        table.add_row(output, "output", f"{rows:,} written", f"{rows / summary.seconds:,.0f}", "", "")
    return table


def print_summary(console: Console, name: str, summary: Summary) -> None:
    """Print what a completed run has read, written and left out."""
    console.print(progress_table(name, summary))
    for operator, reasons in sorted(summary.not_used.items()):
        for reason, rows in sorted(reasons.items()):
            if rows:
                console.print(f"{operator}: {rows:,} rows not used ({reason})")
    for row in summary.bad_rows:
        console.print(f"  {row}")
    console.print(f"{name} completed in {summary.seconds:.1f} s")


def read_of_total(stream: StreamSummary) -> str:
    """Write how many rows were read, and of how many where that is known."""
    return f"{stream.read:,}" if stream.total is None else f"{stream.read:,} of {stream.total:,}"


def ended_text(stream: StreamSummary) -> str:
    """Write how many partitions have ended."""
    return f"{stream.ended}/{stream.partitions}"


def watermark_text(watermark: int | None) -> str:
    """Write a watermark as a time in UTC."""
    if watermark is None:
        return "none"
    if watermark == END_OF_TIME:
        return "end"
    return datetime.fromtimestamp(watermark / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
