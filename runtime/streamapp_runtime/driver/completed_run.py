"""A run that has completed is asked for again: its summary is given, with what has changed since it read its inputs."""

from collections.abc import Iterator
from contextlib import closing, suppress

import msgspec

from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_core.spec.app import StreamApp, StreamAppSpec
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.app_streams import FIRST_REQUEST_TIMEOUT, by_system, declared_descriptor
from streamapp_runtime.driver.run_record import RunRecord, Summary
from streamapp_runtime.errors import SpecChanged
from streamapp_runtime.functions.code_files import code_digests
from streamapp_runtime.processor.processor_report import RunNotice
from streamapp_systems.file import FileStat, take_file_stats
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError
from streamapp_systems.registry import Systems


def summarize_completed(text: str, completed: RunRecord, summary: Summary, systems: Systems) -> Summary:
    """Return the summary of a completed run, with a notice if its inputs or its code are not what it has had.

    A system that can't be asked is no reason to fail: nothing is to be done.

    Raises:
        SpecChanged: the app is another one now.
    """
    parsed = parse_text(text)
    completed_spec = StreamAppSpec.model_validate_json(completed.spec)
    if parsed.app is None or parsed.problems or parsed.app.spec != completed_spec:
        raise SpecChanged(
            f"run {completed.run_id} has completed, and the app has changed since: --fresh runs it as it is now"
        )
    changes = [
        change
        for changed in (_changed_files, _changed_versions, _changed_ends)
        for change in changed(completed, parsed.app, systems)
    ]
    said = [f"its inputs have changed since it read them: {'; '.join(changes)}"] if changes else []
    said += (
        [f"the code of its functions has changed since: {', '.join(code)}"]
        if (code := _changed_code(completed, parsed.app, systems))
        else []
    )
    if not said:
        return summary
    message = (
        f"nothing was run: this is the summary of run {completed.run_id}, which had completed, and "
        f"{'; '.join(said)}. --fresh runs the app again, from the beginning"
    )
    notice = RunNotice(reason=NoticeReason.INPUTS_CHANGED, message=message)
    return msgspec.structs.replace(summary, notices=(*summary.notices, notice))


def _changed_code(completed: RunRecord, app: StreamApp, systems: Systems) -> list[str]:
    found = code_digests(app.spec, systems.folder) if completed.code else {}
    return sorted(name for name in {**completed.code, **found} if completed.code.get(name) != found.get(name))


def _changed_files(completed: RunRecord, app: StreamApp, systems: Systems) -> Iterator[str]:
    side_inputs = {name: side_input.files for name, side_input in completed.side_inputs.items()}
    for name, read in {**completed.file_stats, **side_inputs}.items():
        system = app.system(app.spec.streams[name].system)
        if system.file is None:
            continue
        found: tuple[FileStat, ...] = ()
        with suppress(StreamSystemError):
            found = take_file_stats(systems.folder / system.file.path, _descriptor(app, name))
        before, after = ({file.name: (file.size, file.modified) for file in files} for files in (read, found))
        changed = sorted(name for name in {**before, **after} if before.get(name) != after.get(name))
        if changed:
            yield f"{name} ({', '.join(changed)})"


def _changed_versions(completed: RunRecord, app: StreamApp, systems: Systems) -> Iterator[str]:
    """Compare the versions of tables and folders that were read as a whole."""
    for name, read in completed.side_inputs.items():
        described = _descriptor(app, name)
        if described.whole is not None:
            with suppress(StreamSystemError):
                found = systems.latest_version(app.system(described.system), described)
                if found != read.version:
                    yield f"{name} (version {found}, it was {read.version})"


def _descriptor(app: StreamApp, name: str) -> StreamDescriptor:
    spec = app.spec.streams[name]
    return declared_descriptor(name, spec, app.system(spec.system))


def _changed_ends(completed: RunRecord, app: StreamApp, systems: Systems) -> Iterator[str]:
    """Compare the ends of logs and topics; a file's end follows from the file."""
    asked = [name for name in completed.ends if app.spec.systems[app.spec.streams[name].system].kind.transactional]
    for system, streams in by_system(_descriptor(app, name) for name in asked).items():
        found: dict[str, dict[int, int]] = {}
        with suppress(StreamSystemError):
            admin = systems.open_admin(system, app.system(system), timeout=FIRST_REQUEST_TIMEOUT)
            with closing(admin):
                for ssp, end in admin.end_offsets(streams).items():
                    found.setdefault(ssp.stream, {})[ssp.partition] = end
        for name, now in sorted(found.items()):
            ends = completed.ends[name]
            more = sum(now.values()) - sum(ends.values())
            if any(now.get(partition, 0) < end for partition, end in ends.items()):
                yield f"{name} (it was recreated)"
            elif more and not app.spec.streams[name].ends_in_the_middle:
                yield f"{name} ({more:,} records more)"
