"""The open ends of a processor: what reads, what writes, and what is closed with it."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from streamapp_core.plan.model import Plan, StreamRole
from streamapp_core.spec.systems import SystemKind
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.inputs import Inputs
from streamapp_runtime.sql.arrow_types import arrow_schema
from streamapp_runtime.streams import by_system, descriptor
from streamapp_systems.protocols import Consumer, FileOutput, Producer
from streamapp_systems.registry import open_consumer, open_output, open_producer


class Connections:
    """Opens the systems of an app for one processor; `handles` closes what was opened, the last first."""

    def __init__(self, plan: Plan, folder: Path, handles: ExitStack) -> None:
        """Take the folder that relative paths of the spec resolve from."""
        self._plan = plan
        self._folder = folder
        self._handles = handles

    def inputs(self, ssps: Iterable[Ssp], ends: Mapping[str, Mapping[int, int]]) -> Inputs:
        """Open readers of these partitions, from their beginnings to their ends where they have one."""
        read = set(ssps)
        streams = [self._plan.streams[name] for name in sorted({ssp.stream for ssp in read})]
        consumers: dict[str, Consumer] = {}
        for system, descriptors in by_system(map(descriptor, streams)).items():
            consumer = open_consumer(system, self._plan.app.spec.systems[system], self._folder, descriptors)
            self._handles.callback(consumer.close)
            starts = {ssp: 0 for ssp in sorted(read) if ssp.system == system}
            consumer.assign(starts, {ssp: ends[ssp.stream][ssp.partition] for ssp in starts if ssp.stream in ends})
            consumers[system] = consumer
        return Inputs(consumers, self._intermediate_schemas(), self._event_time_columns())

    def producer(self) -> Producer | None:
        """Open the writer of intermediate streams; None if the app has none."""
        intermediate = [s for s in self._plan.streams.values() if s.role is StreamRole.INTERMEDIATE]
        if not intermediate:
            return None
        system = self._plan.default_system
        spec = self._plan.app.spec.systems[system]
        producer = open_producer(system, spec, self._folder, [descriptor(stream) for stream in intermediate])
        self._handles.callback(producer.close)
        return producer

    def outputs(self, writer: str) -> dict[str, FileOutput]:
        """Open the file outputs, by stream; `writer` is in the names of their parts."""
        planned = [s for s in self._plan.streams.values() if s.role is StreamRole.OUTPUT]
        files = [stream for stream in planned if stream.system_kind is SystemKind.FILE]
        outputs: dict[str, FileOutput] = {}
        for system, descriptors in by_system(map(descriptor, files)).items():
            output = open_output(system, self._plan.app.spec.systems[system], self._folder, descriptors, writer)
            self._handles.callback(output.close)
            outputs |= dict.fromkeys((stream.name for stream in descriptors), output)
        return outputs

    def _intermediate_schemas(self) -> dict[str, pa.Schema]:
        return {
            stream.name: arrow_schema(stream.schema, event_time=True)
            for stream in self._plan.streams.values()
            if stream.role is StreamRole.INTERMEDIATE and stream.schema is not None
        }

    def _event_time_columns(self) -> dict[str, str | None]:
        specs = {stream.name: stream.spec for stream in self._plan.streams.values()}
        return {
            name: spec.event_time.column if spec.event_time is not None else None
            for name, spec in specs.items()
            if spec is not None
        }
