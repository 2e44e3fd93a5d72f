"""The surroundings of an app's processors in a test: the circumstances they read in, and the gate of its steps."""

import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

from streamapp_core.app_tests.compare_rows import ComparedRow
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.naming import CHANGELOG
from streamapp_core.spec.systems import SystemSpec
from streamapp_runtime.app_tests.phase_gate import GatedClock, GatedConsumer, HeldPhase, PhaseGate
from streamapp_runtime.app_tests.shuffled_reading import ShuffledConsumer
from streamapp_runtime.app_tests.written_rows import read_written
from streamapp_runtime.execution_context import ExecutionContext, local_context
from streamapp_runtime.processor.processor_report import ProcessorConfig
from streamapp_runtime.processor.run_processor import plan_processor
from streamapp_systems.protocols import Consumer, StreamDescriptor
from streamapp_systems.registry import LocalSystems

WrittenRows = dict[str, list[ComparedRow]]
"""Rows by output stream."""


def read_step(folder: Path, step: int) -> WrittenRows:
    """Return what had been written when a step had passed, of the outputs that are looked at then."""
    rows: WrittenRows = pickle.loads(_rows_path(folder, step).read_bytes())  # noqa: S301 - we wrote it
    return rows


class TestedProcessors:
    """The processors of one start of an app in a test; its `context` is that of each."""

    __test__ = False  # for pytest, by whose pattern it has the name of a test

    def __init__(
        self,
        phases: Sequence[HeldPhase],
        folder: Path,
        rows_at_once: int | None,
        random: Callable[[], Random],
        begin: Callable[[int], object],
    ) -> None:
        """Take the phases to be held, a folder for what is written in them, and how `Circumstances` say to read.

        `begin` is called with the number of each phase when it begins.
        """
        self._folder = folder
        self._rows_at_once = rows_at_once
        self._random = random
        self._gate = PhaseGate(phases, folder, self._look, begin)
        self._latest: ProcessorConfig | None = None

    def context(self, config: ProcessorConfig) -> ExecutionContext:
        """Return the context of a processor that starts."""
        self._latest = config
        model = JobModel.model_validate_json(config.job_model)
        self._gate.expect({task.processor for task in model.tasks.values()})
        local = local_context(Path(config.folder))
        clock = local.clock
        return replace(
            local,
            clock=GatedClock(
                monotonic=clock.monotonic, sleep=clock.sleep, time_of_day=clock.time_of_day, gate=self._gate
            ),
            systems=_TestedSystems(
                folder=Path(config.folder),
                environment=dict(os.environ),
                gate=self._gate,
                rows_at_once=self._rows_at_once,
                random=self._random(),
            ),
            end_turn=partial(self._gate.end_turn, config.incarnation.processor),
        )

    def _look(self, phase: HeldPhase) -> None:
        config = self._latest
        if config is None or phase.step is None:
            return
        plan, systems = plan_processor(config), local_context(Path(config.folder)).systems
        rows = {name: read_written(name, plan, systems) for name in phase.outputs}
        _rows_path(self._folder, phase.step).write_bytes(pickle.dumps(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class _TestedSystems(LocalSystems):
    """See `Systems`; changelogs are read as they are."""

    gate: PhaseGate
    rows_at_once: int | None
    random: Random

    def open_consumer(self, name: str, system: SystemSpec, streams: Sequence[StreamDescriptor]) -> Consumer:
        """See `Systems.open_consumer`."""
        consumer = LocalSystems.open_consumer(self, name, system, streams)
        if any(stream.name == CHANGELOG for stream in streams):
            return consumer
        gated = GatedConsumer(consumer, self.gate)
        if self.rows_at_once is None:
            return gated
        return ShuffledConsumer(gated, self.rows_at_once, Random(self.random.random()))  # noqa: S311 - no secrets


def _rows_path(folder: Path, step: int) -> Path:
    return folder / f"step-{step}.rows"
