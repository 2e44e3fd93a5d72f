"""The effects of a new run on what earlier ones left, for people."""

from collections.abc import Iterator

from rich.console import Console

from streamapp_cli.counted import counted
from streamapp_runtime.driver.fresh_start import FreshStart, OutputRecords


def print_fresh_start(console: Console, name: str, start: FreshStart) -> None:
    """Print what the start of a new run is about to delete, and the outputs whose records stay."""
    if start.deletes:
        console.print(f"{name}: the new run deletes")
        for line in deleted_lines(start):
            console.print(f"  {line}")
    if start.kept:
        console.print(
            f"{name}: these stay, and new results follow them (--fresh --delete-outputs deletes their records, not "
            "those of tables)"
        )
        for line in kept_lines(start):
            console.print(f"  {line}")


def kept_lines(start: FreshStart) -> Iterator[str]:
    """Yield a line for each output whose records stay."""
    return map(_text, start.kept)


def deleted_lines(start: FreshStart) -> Iterator[str]:
    """Yield a line for each thing that is deleted."""
    for state in start.states:
        yield f"state of an earlier run: {state}"
    for stream in start.streams:
        yield f"stream of an earlier run: {stream}"
    for folder, files in start.part_files.items():
        yield f"results: {counted(files, 'part file')} in {folder}"
    for output in start.emptied:
        yield f"results: {_text(output)}"


def _text(output: OutputRecords) -> str:
    about = "" if output.exact else "about "
    records = counted(output.records, "record")
    return f"output {output.stream}: {about}{records} of {output.address} in {output.system}"
