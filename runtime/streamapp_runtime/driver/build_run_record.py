"""The record of a run at the start of an epoch: what is known of its streams, taken now or at an earlier start."""

from collections import defaultdict
from collections.abc import Collection

import msgspec

from streamapp_core.plan.plan import Plan
from streamapp_runtime.app_streams import file_names, input_file_stats
from streamapp_runtime.driver.check_streams import check_shared_streams_empty
from streamapp_runtime.driver.create_streams import streams_of_run
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.read_positions import start_offsets
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.driver.run_recovery import merge_addresses, outdated_addresses
from streamapp_runtime.driver.side_input_changes import (
    TakenEnds,
    check_side_input_counts,
    describe_changes,
    take_bounded_ends,
)
from streamapp_runtime.processor.processor_report import RunNotice
from streamapp_systems.registry import Systems


def build_new_record(
    run: PlannedRun, systems: Systems, epoch: int, last: RunRecord | None, previous_ids: Collection[str]
) -> RunRecord:
    """Build the record of a new run: where its streams end and where it begins to read are taken now.

    The streams of `last` are outdated, and so are `previous_ids`, its transactional ids.

    Raises:
        RuntimeFailure: another run has written to a stream that other apps read, or a stream can't be read from where
            the spec says.
        StreamSystemError: a system can't be asked.
    """
    plan = run.plan
    check_shared_streams_empty(plan, systems)
    taken = take_bounded_ends(plan, systems, {}, {})
    return RunRecord(
        run_id=plan.run_id,
        epoch=epoch,
        spec=plan.app.spec.model_dump_json(by_alias=True),
        ends=taken.ends,
        side_inputs=taken.side_inputs,
        starts=start_offsets(plan, systems, {}, taken.ends),
        files=file_names(plan, systems),
        file_stats=input_file_stats(plan, systems),
        made=_addresses(run),
        outdated={} if last is None else outdated_addresses(last, plan, systems),
        outdated_ids=(*(() if last is None else last.outdated_ids), *previous_ids),
    )


def build_edited_record(record: RunRecord, run: PlannedRun, systems: Systems, epoch: int) -> RunRecord:
    """Build the record of a run that continues, its spec perhaps edited.

    What is known of its streams stays; of those that the edit has added it is taken now, and of side inputs whose files
    have changed.

    Raises:
        RuntimeFailure: a side input has another number of files, or a stream that the edit has added can't be read from
            where the spec says.
        StreamSystemError: a system can't be asked.
    """
    plan = run.plan
    taken = take_bounded_ends(plan, systems, record.ends, record.side_inputs)
    check_side_input_counts(plan, taken)
    found = file_names(plan, systems)
    return msgspec.structs.replace(
        record,
        epoch=epoch,
        spec=plan.app.spec.model_dump_json(by_alias=True),
        ends=taken.ends,
        side_inputs=taken.side_inputs,
        notices=(*_kept_notices(record), *describe_changes(plan, record.side_inputs, taken.side_inputs)),
        starts=start_offsets(plan, systems, record.starts, taken.ends),
        files={
            name: files if name in taken.side_inputs else record.files.get(name, files) for name, files in found.items()
        },
        file_stats=input_file_stats(plan, systems),
        made=merge_addresses(record.made, _addresses(run)),
        summary=None,
    )


def _kept_notices(record: RunRecord) -> tuple[RunNotice, ...]:
    """Return the notices of a start that was not brought to its end: nobody may have seen them."""
    return () if record.prepared else record.notices


def build_refreshed_record(record: RunRecord, plan: Plan, taken: TakenEnds) -> RunRecord:
    """Build the record of a run that reads new versions of its side inputs from here on."""
    files = {name: [file.name for file in side_input.files] for name, side_input in taken.side_inputs.items()}
    return msgspec.structs.replace(
        record,
        ends=taken.ends,
        side_inputs=taken.side_inputs,
        notices=describe_changes(plan, record.side_inputs, taken.side_inputs),
        files={**record.files, **files},
    )


def _addresses(run: PlannedRun) -> dict[str, list[str]]:
    created: dict[str, list[str]] = defaultdict(list)
    for stream in streams_of_run(run):
        created[stream.system].append(stream.address)
    return created
