"""A profile of the keyed count: one processor in this process, seconds by stage and by module."""

import cProfile
import pstats
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import ParamSpec, TypeVar

from benchmarks.ours import run
from benchmarks.streaming_data import make_readings
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.hosts.launched_processor import collect_garbage_rarely
from streamapp_runtime.operators.outputs import PartitionBy
from streamapp_runtime.operators.row_operators import SqlOperator
from streamapp_runtime.operators.running_aggregate import Aggregate
from streamapp_runtime.processor.committer import Committer
from streamapp_runtime.processor.decoding_input_source import DecodingInputSource
from streamapp_runtime.processor.driver_channel import DriverChannel
from streamapp_runtime.processor.processor import Processor
from streamapp_runtime.processor.processor_report import ProcessorConfig, ProcessorReport
from streamapp_runtime.processor.run_processor import run_processor
from streamapp_runtime.tasks.task import Task
from streamapp_runtime.threads import in_thread
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter
from streamapp_systems.file.consumer import FileConsumer
from streamapp_systems.file.file_output import FileOutput
from streamapp_systems.log.consumer import LogConsumer
from streamapp_systems.log.producer import LogProducer

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

TOP = 12
STAGES: dict[str, Sequence[tuple[object, str]]] = {
    "read and decode files": [(FileConsumer, "poll")],
    "row SQL": [(SqlOperator, "process")],
    "hash keys": [(PartitionBy, "process")],
    "shuffle: encode": [(IntermediateWriter, "_send_rows")],
    "shuffle: read": [(LogConsumer, "poll")],
    "event time, shuffle: decode": [(DecodingInputSource, "_decode")],
    "aggregate": [(Aggregate, "process")],
    "state: encode": [(Task, "flush")],
    "changelog entries": [(Committer, "_send_changes")],
    "log commit (SQLite)": [(LogProducer, "commit")],
    "state commit (LMDB)": [(Task, "commit")],
    "output files": [(FileOutput, "write"), (FileOutput, "stage"), (FileOutput, "publish")],
    "the rest": [(Processor, "run")],
}


class StageTimer:
    """Times the stages from outside, each without the stages it calls."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.seconds: Counter[str] = Counter()
        self._inner = [0.0]

    def install(self, stages: Mapping[str, Sequence[tuple[object, str]]]) -> None:
        """Put the timer around the methods of all stages, for the rest of this process."""
        for stage, methods in stages.items():
            for owner, name in methods:
                setattr(owner, name, self._timed(stage, getattr(owner, name)))

    def _timed(self, stage: str, method: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        def timed(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
            began = self._clock()
            self._inner.append(0.0)
            try:
                return method(*arguments, **options)
            finally:
                taken = self._clock() - began
                self.seconds[stage] += taken - self._inner.pop()
                self._inner[-1] += taken

        return timed


class ProfiledHost:
    """Runs the one processor in a thread, under a profiler if there is one."""

    def __init__(self, profile: cProfile.Profile | None, channel: DriverChannel) -> None:
        self._profile = profile
        self._channel = channel

    def start(self, config: ProcessorConfig) -> Future[ProcessorReport]:
        context = local_context(Path(config.folder))
        if self._profile is None:
            return in_thread("processor", lambda: run_processor(config, self._channel, context))
        profile = self._profile
        return in_thread("processor", lambda: profile.runcall(run_processor, config, self._channel, context))

    def close(self) -> None:
        """Nothing is held."""


def by_module(profile: cProfile.Profile) -> Counter[str]:
    """Add up the time in functions themselves, by module; what is not Python has the name of the function."""
    seconds: Counter[str] = Counter()
    for (file, _, name), (_, _, own, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        seconds["/".join(Path(file).parts[-2:]) if file != "~" else name] += own
    return seconds


def _run(readings: Path, profile: cProfile.Profile | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "readings").symlink_to(readings)
        run("count", Path(folder), lambda channel, *_: ProfiledHost(profile, channel), processors=1)


def _print(title: str, seconds: Counter[str], shown: int) -> None:
    print(f"{title}, seconds (share)")
    for name, taken in seconds.most_common(shown):
        print(f"  {name:<72}{taken:>7.2f}{taken / seconds.total():>7.0%}")


def main() -> None:
    collect_garbage_rarely()
    with tempfile.TemporaryDirectory() as folder:
        readings = Path(folder) / "readings"
        make_readings(readings)
        profile = cProfile.Profile()
        _run(readings, profile)
        timer = StageTimer()
        timer.install(STAGES)
        _run(readings, None)
    _print("keyed count, one processor, by stage", timer.seconds, len(STAGES))
    _print("by module, under the profiler (which overstates Python code)", by_module(profile), TOP)


if __name__ == "__main__":
    main()
