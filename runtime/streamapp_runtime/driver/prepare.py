"""From a spec to a run that can start: systems asked, plan made, streams and output folders made ready."""

import secrets
import string
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from streamapp_core.job_model.build import build_job_model
from streamapp_core.job_model.model import JobModel
from streamapp_core.plan.model import Plan, PlannedStream, StreamRole
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.driver.supported import check_supported
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.functions.load import python_path
from streamapp_runtime.streams import by_system, changelog_stream, count_partitions, descriptor, transactional
from streamapp_systems.file.folder import prepare_output, remove_leftovers
from streamapp_systems.protocols import StreamDescriptor
from streamapp_systems.registry import open_transactional_admin

_LETTERS = string.ascii_lowercase


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """A run that can start; `counts` are the partitions of external streams."""

    plan: Plan
    model: JobModel
    counts: Mapping[str, int]


def new_run_id() -> str:
    """Make a run id: 8 random characters, the first a letter."""
    return secrets.choice(_LETTERS) + "".join(secrets.choice(_LETTERS + string.digits) for _ in range(7))


def plan_run(parsed: ParsedApp, folder: Path, run_id: str, location: str, previous: JobModel | None) -> PreparedRun:
    """Plan a run on this machine; nothing is made yet. `location` is where its state lies.

    Raises:
        PlanRefused: the spec has problems.
        NotSupported: the spec is right but needs more than this release has.
        RuntimeFailure: a file of `pyFiles` is missing.
        StreamSystemError: a system can't be asked.
    """
    counts = {} if parsed.app is None else count_partitions(parsed.app, folder)
    result = make_plan(parsed, counts, previous, run_id=run_id)
    if result.plan is None:
        raise PlanRefused(result.problems)
    check_supported(result.plan)
    python_path(result.plan.app.spec.py_files, folder)
    processors = {str(number): location for number in range(result.plan.app.spec.processors.count)}
    model = build_job_model(result.plan, previous, processors)
    return PreparedRun(plan=result.plan, model=model, counts=counts)


def made_streams(prepared: PreparedRun) -> dict[StreamDescriptor, int]:
    """Give the streams that are made for a run: the intermediate ones and the changelog, with partition counts."""
    plan = prepared.plan
    intermediate = (s for s in plan.streams.values() if s.role is StreamRole.INTERMEDIATE)
    counts = {descriptor(stream): stream.partitions for stream in intermediate}
    return counts | {changelog_stream(plan): len(prepared.model.tasks)}


def make_streams(prepared: PreparedRun, folder: Path) -> None:
    """Create the streams of a run where they are missing, its inputs and outputs in logs too.

    Raises:
        StreamSystemError: a stream exists with another partition count.
    """
    plan = prepared.plan
    external = (s for s in plan.streams.values() if s.spec is not None and s.system_kind is not SystemKind.FILE)
    counts = made_streams(prepared) | {descriptor(stream): stream.partitions for stream in external}
    for system, streams in by_system(counts).items():
        with closing(open_transactional_admin(system, plan.app.spec.systems[system], folder)) as admin:
            admin.create({stream: counts[stream] for stream in streams})


def fence(prepared: PreparedRun, epoch: int, folder: Path) -> None:
    """Shut out the processors of earlier epochs of a run, dead or alive.

    Raises:
        Fenced: there is a later epoch; this driver is not the newest.
    """
    system = prepared.plan.default_system
    owners = [transactional(prepared.plan, processor, epoch) for processor in prepared.model.processors]
    with closing(open_transactional_admin(system, prepared.plan.app.spec.systems[system], folder)) as admin:
        admin.fence(owners)


def make_outputs(plan: Plan, folder: Path) -> None:
    """Make the output folders ready for a new run, emptied of earlier results.

    Raises:
        StreamSystemError: an output folder is not this app's.
    """
    for output in _output_folders(plan, folder):
        prepare_output(output, plan.app.metadata.name, fresh=True)


def tidy_outputs(plan: Plan, folder: Path) -> None:
    """Remove the parts that workers staged and died before they committed; no worker is alive."""
    for output in _output_folders(plan, folder):
        remove_leftovers(output, keep=())


def drop_streams(addresses: Mapping[str, Sequence[str]], app: StreamApp, folder: Path) -> None:
    """Delete streams that were made for earlier runs, by system, where the app still has the system."""
    for name, streams in addresses.items():
        system = app.spec.systems.get(name)
        if system is None or not system.kind.transactional:
            continue
        gone = [StreamDescriptor(name=a, system=name, address=a, format=StreamFormat.ARROW) for a in streams]
        with closing(open_transactional_admin(name, system, folder)) as admin:
            admin.delete(gone)


def _output_folders(plan: Plan, folder: Path) -> list[Path]:
    return [_folder(plan, stream, folder) for stream in plan.streams.values() if _is_file_output(stream)]


def _is_file_output(stream: PlannedStream) -> bool:
    return stream.role is StreamRole.OUTPUT and stream.system_kind is SystemKind.FILE


def _folder(plan: Plan, stream: PlannedStream, folder: Path) -> Path:
    system = plan.app.spec.systems[stream.system].file
    assert system is not None
    return folder / system.path / stream.address
