"""Keys that processors have found in different files, though each file claims all rows of its keys (docs/kafka.md)."""

from collections.abc import Sequence

from streamapp_core.plan.plan import Plan
from streamapp_runtime.processor.processor_report import BrokenClaimReport, ProcessorReport


def find_split_keys(plan: Plan, reports: Sequence[ProcessorReport]) -> dict[str, BrokenClaimReport]:
    """Return, by stream, how many of the keys that processors have sampled are in several files, and one of them."""
    found: dict[str, BrokenClaimReport] = {}
    for stream in sorted({name for report in reports for name in report.file_keys}):
        files: dict[str, int] = {}
        split: dict[str, tuple[int, int]] = {}
        for report in reports:
            for key, file in report.file_keys.get(stream, {}).items():
                if files.setdefault(key, file) != file:
                    split.setdefault(key, (files[key], file))
        if split:
            key, (one, other) = min(split.items())
            name, columns = f"{plan.streams[stream].system}.{stream}", plan.streams[stream].key
            shown = f"{columns[0]} = {key}" if len(columns) == 1 else key
            example = f"{name}: rows with key {shown} are in file {one}, and in file {other}, too."
            found[stream] = BrokenClaimReport(checked=len(files), misplaced=len(split), example=example)
    return found
