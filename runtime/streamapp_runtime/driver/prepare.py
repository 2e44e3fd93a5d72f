"""From a spec to a run that can start: systems asked, plan made, streams and output folders made ready."""

import secrets
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamapp_core.job_model.build import build_job_model
from streamapp_core.job_model.model import JobModel
from streamapp_core.plan.model import Plan, StreamRole
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.driver.supported import check_supported
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.streams import bounded_ends, by_system, count_partitions, descriptor
from streamapp_systems.file.folder import prepare_output
from streamapp_systems.log import LogAdmin
from streamapp_systems.protocols import StreamDescriptor
from streamapp_systems.registry import open_admin

_LETTERS = string.ascii_lowercase


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """A run that can start: `counts` are the partitions of external streams, `ends` where bounded ones end."""

    plan: Plan
    model: JobModel
    counts: Mapping[str, int]
    ends: dict[str, dict[int, int]]


def new_run_id() -> str:
    """Make a run id: 8 random characters, the first a letter."""
    return secrets.choice(_LETTERS) + "".join(secrets.choice(_LETTERS + string.digits) for _ in range(7))


def plan_run(parsed: ParsedApp, folder: Path, run_id: str, location: str) -> PreparedRun:
    """Plan a new run on this machine; nothing is made yet. `location` is where its state will lie.

    Raises:
        PlanRefused: the spec has problems.
        NotSupported: the spec is right but needs more than this release has.
        StreamSystemError: a system can't be asked.
    """
    counts = {} if parsed.app is None else count_partitions(parsed.app, folder)
    result = make_plan(parsed, counts, None, run_id=run_id)
    if result.plan is None:
        raise PlanRefused(result.problems)
    check_supported(result.plan)
    processors = {str(number): location for number in range(result.plan.app.spec.processors.count)}
    model = build_job_model(result.plan, None, processors)
    return PreparedRun(plan=result.plan, model=model, counts=counts, ends=bounded_ends(result.plan, folder))


def make_streams(plan: Plan, folder: Path) -> None:
    """Create the intermediate streams of a run and make its output folders ready, emptied of earlier results.

    Raises:
        StreamSystemError: a stream exists with another partition count, or an output folder is not this app's.
    """
    for stream in plan.streams.values():
        if stream.role is StreamRole.OUTPUT and stream.system_kind is SystemKind.FILE:
            root = plan.app.spec.systems[stream.system].file
            assert root is not None
            prepare_output(folder / root.path / stream.address, plan.app.metadata.name, fresh=True)
    for system, streams in intermediate_streams(plan).items():
        admin = open_admin(system, plan.app.spec.systems[system], folder)
        try:
            admin.create({stream: plan.streams[stream.name].partitions for stream in streams})
        finally:
            admin.close()


def intermediate_streams(plan: Plan) -> dict[str, list[StreamDescriptor]]:
    """Give the intermediate streams of a run, by system."""
    made = (descriptor(s) for s in plan.streams.values() if s.role is StreamRole.INTERMEDIATE)
    return dict(by_system(made))


def drop_streams(addresses: Mapping[str, Sequence[str]], app: StreamApp, folder: Path) -> None:
    """Delete the intermediate streams of an earlier run, by system, where the app still has the system."""
    for name, streams in addresses.items():
        system = app.spec.systems.get(name)
        if system is not None and system.log is not None:
            admin = LogAdmin(folder / system.log.path)
            try:
                admin.delete(
                    [StreamDescriptor(name=a, system=name, address=a, format=StreamFormat.ARROW) for a in streams]
                )
            finally:
                admin.close()
