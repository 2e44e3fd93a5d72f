"""The samples of `streamapp dev --sample`: what an app makes of the last records, written nowhere else."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from streamapp_cli.app_files import exit_with_error
from streamapp_cli.plan_text import plan_text
from streamapp_cli.run_printer import TextPrinter
from streamapp_core.naming import local_run_path
from streamapp_core.plan.plan import Plan, PlanResult, StreamRole
from streamapp_core.replay.replay_app import without_times
from streamapp_core.replay.sampled_app import build_sample, shown_streams
from streamapp_core.spec.base import format_duration, parse_duration
from streamapp_core.spec.yaml_document import read_document
from streamapp_runtime.driver.run_record import Summary
from streamapp_runtime.errors import FAILURES

_ALL = "all"
_SHOWN_ROWS = 5
"""Rows of each operator and output that are printed."""

Rows = Callable[[Plan, str], Sequence[Mapping[str, object]]]
"""Samples the newest records of a stream of a plan, as documents."""


class Sample:
    """Makes samples of the app in a folder, as each save leaves it."""

    def __init__(self, folder: Path, length: int | None, now: int) -> None:
        """Sample what came in the `length` milliseconds before `now`, and since; None: all that there is."""
        self._folder = folder
        self._length = length
        self._start = None if length is None else max(now - length, 0)

    def plan(self, text: str, plan: Plan) -> tuple[str, PlanResult]:
        """Return the text of the sample of an app, given as its text and its plan, and the plan of the sample.

        Raises:
            StreamSystemError: a system can't be asked.
        """
        document = read_document(text)[0]
        assert isinstance(document, dict)
        built = build_sample(document, plan, self._start)
        planned = plan_text(json.dumps(built), self._folder)
        if planned.plan is None:
            built = without_times(built, planned.problems)
            planned = plan_text(json.dumps(built), self._folder)
        problems = [replace(problem, message=f"can't be sampled: {problem.message}") for problem in planned.problems]
        return json.dumps(built), replace(planned, problems=tuple(problems))

    def clear(self, plan: Plan) -> None:
        """Delete what the sample before has left."""
        shutil.rmtree(self._folder / local_run_path(plan.app.metadata.name), ignore_errors=True)

    def missing_records(self, summary: Summary) -> Iterator[str]:
        """Yield why inputs of a sample that has completed had no records."""
        for stream in summary.streams:
            if stream.role == StreamRole.INPUT and not stream.read:
                what = (
                    "there are no records"
                    if self._length is None
                    else f"no record came in the last {format_duration(self._length)} before this was started, or since"
                )
                yield f"{stream.name}: {what}"


class SamplePrinter(TextPrinter):
    """Prints what happens to a sample, and some rows of each operator and output at its end."""

    def __init__(self, name: str, sample: Sample, rows: Rows) -> None:
        """Take the name of the app."""
        super().__init__(name, quiet=False)
        self._sample = sample
        self._rows = rows
        self._plans: tuple[Plan, Plan] | None = None

    def show_plan(self, plan: Plan, run: Plan) -> None:
        """Take the plan of the app, and that of its sample, which runs next."""
        self._plans = (plan, run)

    @contextmanager
    def follow(self) -> Iterator[Callable[[Summary], None]]:
        """See `RunPrinter.follow`."""
        with super().follow() as listener:
            yield lambda summary: listener(self._of_outputs(summary))

    def complete(self, summary: Summary) -> None:
        """See `RunPrinter.complete`."""
        assert self._plans is not None
        plan, run = self._plans
        super().complete(self._of_outputs(summary))
        for line in self._sample.missing_records(summary):
            self._console.print(line)
        for name, stream in sorted(shown_streams(plan).items(), key=lambda item: item[0] in plan.app.spec.streams):
            count = summary.written.get(stream, 0)
            kind = str(plan.operators[name].kind) if name in plan.operators else "output"
            self._console.print(f"{name} ({kind}): {count:,} {'row' if count == 1 else 'rows'}")
            for row in self._some(run, stream) if count else ():
                self._console.print(f"  {json.dumps(row, ensure_ascii=False)}")

    def _of_outputs(self, summary: Summary) -> Summary:
        assert self._plans is not None
        outputs = self._plans[0].app.spec.streams
        written = {name: count for name, count in summary.written.items() if name in outputs}
        return msgspec.structs.replace(summary, written=written)

    def _some(self, run: Plan, stream: str) -> Sequence[object]:
        try:
            return [_row(record) for record in self._rows(run, stream)[-_SHOWN_ROWS:]]
        except FAILURES as failure:
            return [str(failure)]


def of_operators(summary: Summary, plan: Plan) -> Summary:
    """Return the progress of a sample of an app with the rows that operators emitted by the names of these."""
    counts, streams = summary.written, shown_streams(plan)
    written = {name: counts[stream] for name, stream in streams.items() if stream in counts}
    return msgspec.structs.replace(summary, written=written)


def _row(record: Mapping[str, object]) -> object:
    """Return the row of a record, or the record where it has none."""
    row = record.get("row")
    return record if row is None else row


def read_length(option: str) -> int | None:
    """Return the milliseconds that `--sample` names, None for all, or end the program."""
    if option == _ALL:
        return None
    try:
        return parse_duration(option)
    except ValueError as error:
        exit_with_error(f"--sample: {error}; or {_ALL}")
