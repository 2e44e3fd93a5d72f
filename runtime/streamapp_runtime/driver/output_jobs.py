"""The jobs of Spark that write outputs, one after the other, in a thread of the driver (docs/protocols.md)."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_core.plan.plan import Plan, StreamRole
from streamapp_core.spec.spark_settings import SparkSpec
from streamapp_core.spec.spark_system import SparkSystem
from streamapp_runtime.app_streams import output_descriptor
from streamapp_runtime.driver.background_work import BackgroundWork
from streamapp_runtime.driver.spark_process import SparkProgram, Stopped
from streamapp_runtime.driver.write_process import (
    PROGRAM,
    PendingGeneration,
    WriteOutcome,
    WriteRequest,
    WriteTarget,
    run_write,
)
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.functions.function_loader import python_path
from streamapp_runtime.processor.processor_report import RunNotice
from streamapp_systems.objects import ObjectPath
from streamapp_systems.outgoing import OutgoingGeneration, OutgoingGenerations, outgoing_addresses, outgoing_folder
from streamapp_systems.protocols import StreamSystemError, Unavailable

_RETRY_SECONDS = 30.0
_LOOK_SECONDS = 0.5
_SECOND = 1_000


@dataclass(frozen=True, slots=True)
class _Output:
    """A place that is written to. `schema`: the columns of the stream that is; None if the app has it no more."""

    system: SparkSystem
    address: str
    schema: str | None
    generations: OutgoingGenerations


class OutputJobs(BackgroundWork):
    """Writes the outputs of an app that only Spark writes: `with OutputJobs(...) as jobs:`.

    What was never written must be; later, a job that fails is tried again, and the rows stay staged.
    """

    def __init__(self, plan: Plan, context: ExecutionContext) -> None:
        """Start nothing yet."""
        super().__init__("outputs", context.threads)
        self._plan, self._context = plan, context
        self._systems = {name: system for name, system in plan.app.spec.systems.items() if system.spark is not None}
        self._spark = plan.app.spec.spark or SparkSpec()
        self._clock = context.clock.monotonic
        self._finishing = False
        self._written: set[str] = set()
        self._failures: Mapping[str, str] = {}

    def finish(self) -> None:
        """Write what is committed at once, and then end: no processor is alive that adds to it."""
        self._finishing = True

    @property
    def finished(self) -> bool:
        """Whether all is written, after `finish`, or something can't be."""
        return self._working is None or self._working.done()

    @property
    def notices(self) -> tuple[RunNotice, ...]:
        """The outputs whose last job has failed, and why."""
        return tuple(
            RunNotice(
                reason=NoticeReason.OUTPUT_NOT_WRITTEN,
                message=f"what is sent to {address} is not written: {why}; tried again every {_RETRY_SECONDS:.0f} s",
            )
            for address, why in sorted(self._failures.items())
        )

    def _has_work(self) -> bool:
        return bool(self._systems)

    def _work(self) -> None:
        with SparkProgram(PROGRAM, self._context.systems.folder) as program:
            self._work_with(program)

    def _work_with(self, program: SparkProgram) -> None:
        judged = False
        while not self._ending.is_set():
            last = self._finishing  # what is found after this is all that there is
            try:
                found = [(output, output.generations.pending()) for output in self._find()]
                wanted = [(output, some) for output, some in found if some or (output.schema and not judged)]
                self._failures = self._write(program, wanted) if wanted else {}
                judged = True
                if last and not self._failures:
                    return
            except Stopped:
                return
            except Unavailable as error:
                self._failures = {"all outputs": str(error)}
            self._pause()

    def _find(self) -> list[_Output]:
        """Find the places that are written to, those among them of streams that an edit has removed."""
        systems, app = self._plan.app.spec.systems, self._plan.app.name_prefix
        outputs = [s for s in self._plan.streams.values() if s.system in self._systems and s.role is StreamRole.OUTPUT]
        taken = {(systems[stream.system].path, stream.address) for stream in outputs}
        found = []
        for name, system in self._systems.items():
            root, spark = self._context.systems.place(system), system.spark
            assert spark is not None
            for stream in outputs:
                if stream.system == name:
                    generations = OutgoingGenerations(outgoing_folder(root, app, stream.address))
                    found.append(_Output(spark, stream.address, str(output_descriptor(stream).schema), generations))
            for address in outgoing_addresses(root, app):
                generations = OutgoingGenerations(outgoing_folder(root, app, address))
                version = None if (system.path, address) in taken else generations.load()
                if version is not None and version.system == name:
                    found.append(_Output(spark, address, None, generations))
        return found

    def _write(
        self, program: SparkProgram, wanted: Sequence[tuple[_Output, Sequence[OutgoingGeneration]]]
    ) -> Mapping[str, str]:
        """Have a job write these, and return why it could not, by address.

        Raises:
            StreamSystemError: one can't be written, and has never been.
        """
        noted: dict[int, int] = {}

        def note(outcome: WriteOutcome) -> None:
            for place, number in outcome.written.items():
                output, some = wanted[place]
                for generation in some:
                    if noted.get(place, 0) < generation.number <= number:
                        with fail_point(FailPoint.OUTPUT_NOTE):
                            output.generations.note_written(generation)
                        noted[place] = generation.number

        with ExitStack() as copies:
            targets = [self._target(output, some, copies) for output, some in wanted]
            spark = self._spark
            packages = {"spark.jars.packages": ",".join(spark.packages)} if spark.packages else {}
            request = WriteRequest(
                targets=tuple(targets),
                properties=spark.conf | packages,
                python_path=tuple(python_path(self._plan.app.spec.py_files, self._context.systems.folder)),
            )
            with fail_point(FailPoint.OUTPUT_WRITE):
                outcome = run_write(program, request, self._ending, note)
        failures = {}
        for place, (target, (output, _)) in enumerate(zip(targets, wanted, strict=True)):
            if place not in outcome.failures:
                self._written.add(target.chain)
                continue
            why = outcome.failures[place]
            if not target.written and not noted.get(place) and target.chain not in self._written:
                raise StreamSystemError(f"what is sent to {output.address} can't be written: {why}")
            failures[output.address] = why
        return failures

    def _target(self, output: _Output, some: Sequence[OutgoingGeneration], copies: ExitStack) -> WriteTarget:
        """Describe what is written; files of a store are copied to this machine until `copies` is closed."""
        version = output.generations.load()
        if version is None:
            raise StreamSystemError(
                f"{output.generations.folder} has no generations any more: someone removed it. Rows that were not "
                "written are lost; begin a new run to write them again"
            )
        return WriteTarget(
            system=output.system.model_dump_json(by_alias=True),
            address=output.address,
            chain=version.id,
            written=output.generations.written(),
            schema=output.schema,
            generations=tuple(
                PendingGeneration(number=each.number, files=_local(output.generations, each, copies)) for each in some
            ),
        )

    def _pause(self) -> None:
        """Wait until outputs are to be written again, or all that is left is."""
        every = (system.spark.commit_every for system in self._systems.values() if system.spark is not None)
        until = self._clock() + (_RETRY_SECONDS if self._failures else min(every) / _SECOND)
        while (left := until - self._clock()) > 0 and (self._failures or not self._finishing):
            if self._ending.wait(min(left, _LOOK_SECONDS)):
                return


def _local(generations: OutgoingGenerations, generation: OutgoingGeneration, copies: ExitStack) -> tuple[str, ...]:
    """Return the paths of a generation's files on this machine."""
    folder: Path | None = None
    found = []
    for file in generation.files:
        place = generations.place(file)
        if isinstance(place, ObjectPath):
            folder = folder or Path(copies.enter_context(TemporaryDirectory(prefix="streamapp-")))
            with place.open("rb") as source, (folder / file).open("wb") as copy:
                shutil.copyfileobj(source, copy)
            place = folder / file
        found.append(str(place.absolute()))
    return tuple(found)
