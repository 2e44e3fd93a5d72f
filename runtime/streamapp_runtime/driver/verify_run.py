"""Verification that the stores of an app on this machine equal its changelog (`streamapp verify`)."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.delivery import default_system
from streamapp_core.spec.app import StreamApp
from streamapp_core.tasks.natural_order import natural_key
from streamapp_runtime.app_streams import FIRST_REQUEST_TIMEOUT, changelog_of
from streamapp_runtime.driver.active_run import find_metadata, read_active_model
from streamapp_runtime.driver.run_folder import RunFolder
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.processor.state_opener import task_folder
from streamapp_runtime.state.changelog import ChangelogPartitionReader
from streamapp_runtime.state.changelog_verification import StateVerdict, verify_state
from streamapp_runtime.state.folder_lock import FolderInUse, FolderLock
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_systems.clock import Clock
from streamapp_systems.protocols import StreamDescriptor

_WORKER_SECONDS = 20.0
"""The time that a worker whose driver is gone may take to end: twice as long as it waits for an answer."""


def verify_run(app: StreamApp, context: ExecutionContext, state: Path) -> Iterator[StateVerdict]:
    """Compare the stores of all tasks of the app's run with its changelog, one after the other.

    `state` is the app's folder. Nothing is changed.

    Raises:
        RuntimeFailure: there is no run here, or it is running.
        JobModelUnreadableError: the run's job model is lost.
        StreamSystemError: the changelog can't be read.
    """
    find_metadata(app, state)
    try:
        with RunFolder(state, context.clock) as run_folder:
            model = read_active_model(app, state)
            yield from _verify(app, context, model, run_folder.state(model.run_id))
    except FolderInUse as used:
        raise RuntimeFailure(f"{app.metadata.name} is running: stop it, then verify it ({used})") from None


def _verify(app: StreamApp, context: ExecutionContext, model: JobModel, state: Path) -> Iterator[StateVerdict]:
    system, systems = default_system(app.spec), context.systems
    assert system is not None
    stream, spec = changelog_of(app, model.run_id, system), app.system(system)
    with closing(systems.open_admin(system, spec, timeout=FIRST_REQUEST_TIMEOUT)) as admin:
        _check_exists(admin.partitions([stream]), stream)
    with closing(systems.open_transactional_admin(system, spec)) as admin:
        for task in sorted(model.tasks, key=natural_key):
            with ExitStack() as handles:
                here = task_folder(state, task)
                if here.exists():
                    handles.enter_context(closing(_lock(here, context.clock)))
                consumer = handles.enter_context(closing(systems.open_consumer(system, spec, [stream])))
                yield verify_state(
                    here,
                    StateOwner(run_id=model.run_id, task=task, boot_id=context.boot_id),
                    ChangelogPartitionReader(admin, consumer, stream, model.tasks[task].changelog_partition),
                    scratch=Path(handles.enter_context(tempfile.TemporaryDirectory(prefix="streamapp-verify-"))),
                    sleep=context.clock.sleep,
                )


def _check_exists(found: Mapping[str, int], stream: StreamDescriptor) -> None:
    if stream.name not in found:
        raise RuntimeFailure(
            f"system {stream.system} has no changelog {stream.address}: is the app's file the one the run began with?"
        )


def _lock(folder: Path, clock: Clock) -> FolderLock:
    return FolderLock(folder, wait_seconds=_WORKER_SECONDS, clock=clock.monotonic, sleep=clock.sleep)
