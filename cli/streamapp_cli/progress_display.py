"""The progress of a run: a live table on a terminal, plain lines elsewhere; and the summary at its end."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from streamapp_cli.counted import counted
from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.time_formats import format_event_time
from streamapp_runtime.driver.run_record import StateSummary, StreamSummary, Summary
from streamapp_runtime.processor.processor_report import RunNotice, WatermarkHolderReport

LINE_SECONDS = 2.0
"""Seconds between two lines of progress, at the least."""
_SIDE_INPUT = "sideInput"


@contextmanager
def follow(
    console: Console, name: str, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[Summary], None]]:
    """Yield the listener to the progress of a run; it prints until the block ends. `clock` returns seconds."""
    news = _News(console, name)
    if console.is_terminal:
        with Live(console=console, transient=True, refresh_per_second=4) as live:
            live.update(f"{name}: starting")
            yield _all(news, lambda summary: live.update(Group(progress_table(name, summary), *left_out(summary))))
    else:
        yield _all(news, _Lines(console, name, clock))


def _all(*listeners: Callable[[Summary], None]) -> Callable[[Summary], None]:
    def listen(summary: Summary) -> None:
        for listener in listeners:
            listener(summary)

    return listen


class _News:
    """Prints each notice, incident and broken claim, and each of the first rows that were left out, once."""

    def __init__(self, console: Console, name: str) -> None:
        self._console = console
        self._name = name
        self._printed_rows: set[str] = set()
        self._printed_notices: set[RunNotice] = set()
        self._incidents = 0
        self._broken_claims: set[str] = set()

    def __call__(self, summary: Summary) -> None:
        rows = [row for row in summary.bad_rows if row not in self._printed_rows]
        self._printed_rows.update(rows)
        broken = {
            name: claim.example for name, claim in summary.broken_claims.items() if name not in self._broken_claims
        }
        self._broken_claims.update(broken)
        notices = [notice for notice in summary.notices if notice not in self._printed_notices]
        self._printed_notices.update(notices)
        new = summary.incident_count - self._incidents
        incidents = summary.incidents[-new:] if new else ()
        told = (notice.message for notice in notices)
        for line in (*told, *incidents, *(f"left out: {row}" for row in rows), *broken.values()):
            self._console.print(f"{self._name} {summary.seconds:.0f}s: {line}")
        self._incidents = summary.incident_count


class _Lines:
    """Prints a line now and then."""

    def __init__(self, console: Console, name: str, clock: Callable[[], float]) -> None:
        self._console = console
        self._name = name
        self._clock = clock
        self._printed = clock()
        self._refused: tuple[str, ...] = ()
        self._left_out: list[str] = []

    def __call__(self, summary: Summary) -> None:
        if summary.refused != self._refused:
            self._refused = summary.refused
            for line in _refusal(summary):
                self._console.print(f"{self._name} {summary.seconds:.0f}s: {line}")
        if self._clock() - self._printed < LINE_SECONDS:
            return
        self._printed = self._clock()
        streams = "; ".join(
            f"{stream.name} {read_of_total(stream)}, {_state(stream)}, ended {ended_text(stream)}"
            for stream in summary.streams
            if stream.role != _SIDE_INPUT or stream.ended < stream.partitions
        )
        if summary.state.left:
            streams = restoring_text(summary.state)
        self._console.print(f"{self._name} {summary.seconds:.0f}s: {streams}")
        if (lines := left_out(summary)) != self._left_out:
            self._left_out = lines
            self._console.print(f"{self._name} {summary.seconds:.0f}s: {'; '.join(lines)}")


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
            _bootstrap_text(stream) if stream.role == _SIDE_INPUT else watermark_text(stream.watermark),
            ended_text(stream),
        )
    for output, rows in sorted(summary.written.items()):
        table.add_row(output, "output", f"{rows:,} written", f"{rows / summary.seconds:,.0f}", "", "")
    notes = [restoring_text(summary.state)] if summary.state.left else []
    notes += [_waiting(stream, summary) for stream in summary.streams if stream.held_back]
    notes += _refusal(summary) if summary.refused else []
    if notes:
        table.caption = Text("\n".join(notes), no_wrap=False, overflow="fold")
        table.caption_justify = "left"
    return table


def print_summary(console: Console, name: str, summary: Summary) -> None:
    """Print what a completed run has read, written and left out."""
    console.print(progress_table(name, summary))
    for line in left_out(summary):
        console.print(line)
    for row in summary.bad_rows:
        console.print(f"  {row}")
    for line in broken_claims(summary):
        console.print(line)
    for notice in summary.notices:
        console.print(notice.message)
    state = summary.state
    if state.kept or state.rebuilt:
        console.print(
            f"state: {state.kept} tasks kept their stores, {state.rebuilt} rebuilt theirs; "
            f"{state.records:,} records of the changelog read"
        )
    console.print(f"{name} completed in {summary.seconds:.1f} s")


def left_out(summary: Summary) -> list[str]:
    """Write how many rows were not used, by the operator or stream where that was, and why."""
    return [
        f"{operator}: {counted(rows, 'row')} not used ({reason})"
        for operator, reasons in sorted(summary.not_used.items())
        for reason, rows in sorted(reasons.items())
        if rows
    ]


def broken_claims(summary: Summary) -> list[str]:
    """Write, by stream, how many of the rows that were checked are not where their key belongs."""
    return [
        f"{stream}: {claim.misplaced:,} of {counted(claim.checked, 'row')} checked are not in the partition of their "
        f"key, results may be wrong. {claim.example}"
        for stream, claim in sorted(summary.broken_claims.items())
    ]


def _state(stream: StreamSummary) -> str:
    if stream.role == _SIDE_INPUT:
        return _bootstrap_text(stream)
    held = f" (held back by {held_back_text(stream.held_back)})" if stream.held_back else ""
    return f"watermark {watermark_text(stream.watermark)}{held}"


def _waiting(stream: StreamSummary, summary: Summary) -> str:
    """Write what holds a stream's watermark back, and the operators whose watermark waits for it."""
    assert stream.held_back is not None
    operators = [operator for operator, name in summary.held_back_by.items() if name == stream.name]
    waiting = f", for which {', '.join(operators)} wait" if operators else ""
    return f"{stream.name}: the watermark is held back by {held_back_text(stream.held_back)}{waiting}"


def held_back_text(held: WatermarkHolderReport) -> str:
    """Write the partition and producer that hold a watermark back, and since when."""
    producer = f"the rows of task {held.producer} in " if held.producer else ""
    return f"{producer}partition {held.partition} since {watermark_text(held.since)}"


def _bootstrap_text(stream: StreamSummary) -> str:
    """Write how much of a side input other inputs wait for, or its version."""
    if stream.awaited:
        return f"bootstrap: {stream.awaited:,} to go"
    return f"version {stream.version}" if stream.version else "in the table"


def _refusal(summary: Summary) -> list[str]:
    """Write that the run does not follow its streams, and why; or that it does again."""
    if not summary.refused:
        return ["the run can follow its streams again"]
    return [
        "the streams have changed in a way that this run can't follow; it keeps running with its previous plan:",
        *summary.refused,
    ]


def restoring_text(state: StateSummary) -> str:
    """Write how far the rebuilding of stores is."""
    return f"restoring the state: {state.records:,} records of the changelog read, {state.left:,} to go"


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
    return format_event_time(watermark)
