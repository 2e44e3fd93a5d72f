"""The deletions of a new run: what earlier ones have left, and the outputs that are emptied or stay."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.app_streams import by_system, descriptor
from streamapp_runtime.driver.prepare_outputs import Check, count_part_files
from streamapp_runtime.driver.run_folder import RunFolder
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.driver.run_recovery import find_existing
from streamapp_runtime.output_tables import count_table_rows
from streamapp_runtime.processor.processor_report import RunNotice
from streamapp_systems.objects import Place
from streamapp_systems.registry import Systems


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRecords:
    """The records that an output in a log, Kafka or a table holds, of whatever run; about so many if not `exact`."""

    stream: str
    system: str
    address: str
    records: int
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshStart:
    """The deletions of a new run: state folders, streams of earlier runs, part files by folder, records of outputs.

    `emptied` are the outputs whose records go; those of `kept` stay, and results of the new run follow them.
    """

    states: tuple[Path, ...]
    streams: tuple[str, ...]
    part_files: Mapping[Place, int]
    emptied: tuple[OutputRecords, ...]
    kept: tuple[OutputRecords, ...]

    @property
    def deletes(self) -> bool:
        """Whether there is anything to delete."""
        return bool(self.states or self.streams or self.part_files or self.emptied)


def describe_fresh_start(record: RunRecord, plan: Plan, systems: Systems, run_folder: RunFolder) -> FreshStart:
    """Describe what the start of a new run is about to delete, and what stays.

    Raises:
        StreamSystemError: a system can't be asked.
    """
    outputs = _count_records(plan, systems)
    return FreshStart(
        states=tuple(run_folder.other_states(record.run_id)),
        streams=tuple(find_existing(record.outdated, plan.app, systems)),
        part_files=count_part_files(plan, systems),
        emptied=tuple(o for o in outputs if o.address in record.emptied.get(o.system, ())),
        kept=tuple(o for o in outputs if o.address not in record.emptied.get(o.system, ())),
    )


def describe_new_run(record: RunRecord, plan: Plan, systems: Systems, *, deleted: bool) -> RunNotice:
    """Describe what earlier runs have left when a new one begins that was not asked whether to delete it.

    Args:
        record: the record of the new run.
        plan: its plan.
        systems: they have what was left.
        deleted: whether the streams that earlier runs have made are deleted.

    Raises:
        StreamSystemError: a system can't be asked.
    """
    parts = [f"run {record.run_id} begins from the start of its inputs"]
    if streams := sorted(find_existing(record.outdated, plan.app, systems)):
        parts.append(f"the streams of earlier runs {'are deleted' if deleted else 'stay'}: {', '.join(streams)}")
    if folders := sorted(str(folder) for folder, count in count_part_files(plan, systems).items() if count):
        parts.append(f"the results of earlier runs in files are deleted: {', '.join(folders)}")
    for output in _count_records(plan, systems):
        about, s = "" if output.exact else "about ", "" if output.records == 1 else "s"
        parts.append(
            f"output {output.stream} ({output.system}: {output.address}) keeps {about}{output.records:,} record{s} of "
            "earlier runs or other writers, and the results of this run follow them"
        )
    return RunNotice(reason=NoticeReason.NEW_RUN, message="; ".join(parts))


def outputs_to_empty(plan: Plan) -> dict[str, list[str]]:
    """Return the addresses of the outputs in logs and Kafka, by system; of none that the app also reads.

    Two systems may be one under two names, so an address that is read in any of that kind is left out.
    """
    used = {(s.system_kind, s.address) for s in plan.streams.values() if s.role is not StreamRole.OUTPUT}
    found: dict[str, list[str]] = {}
    for stream in _outputs(plan):
        if (stream.system_kind, stream.address) not in used:
            found.setdefault(stream.system, []).append(stream.address)
    return found


def empty_outputs(addresses: Mapping[str, Sequence[str]], plan: Plan, systems: Systems, check: Check) -> None:
    """Delete the records that these outputs hold now. Streams, their settings and offsets stay; safe to repeat.

    Those of a later driver, which `check` finds, come behind them and stay.

    Raises:
        Superseded: a later driver has taken over.
        StreamSystemError: a system does not do it.
    """
    wanted = [stream for stream in _outputs(plan) if stream.address in addresses.get(stream.system, ())]
    for system, streams in by_system(map(descriptor, wanted)).items():
        with closing(systems.open_transactional_admin(system, plan.app.system(system))) as admin:
            existing = admin.partitions(streams)
            found = [stream for stream in streams if stream.name in existing]
            ends = admin.end_offsets(found)
            check()
            admin.delete_records(found, ends)


def _count_records(plan: Plan, systems: Systems) -> list[OutputRecords]:
    counted = []
    for system, streams in by_system(map(descriptor, _outputs(plan))).items():
        with closing(systems.open_transactional_admin(system, plan.app.system(system))) as admin:
            existing = admin.partitions(streams)
            counts = admin.count_records([stream for stream in streams if stream.name in existing])
        exact = plan.app.spec.systems[system].kind is SystemKind.LOG
        counted += [
            OutputRecords(
                stream=stream.name, system=system, address=stream.address, records=counts[stream.name], exact=exact
            )
            for stream in streams
            if counts.get(stream.name)
        ]
    for name, rows in count_table_rows(plan, systems).items():
        table = plan.streams[name]
        if rows:
            counted.append(
                OutputRecords(stream=name, system=table.system, address=table.address, records=rows, exact=False)
            )
    return counted


def _outputs(plan: Plan) -> list[PlannedStream]:
    return [s for s in plan.streams.values() if s.role is StreamRole.OUTPUT and s.system_kind.transactional]
