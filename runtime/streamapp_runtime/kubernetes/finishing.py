"""The end of a run on Kubernetes (`docs/protocols.md`, run-4)."""

import time
from pathlib import Path

import msgspec

from streamapp_core.metadata.store import MetadataStore
from streamapp_runtime.coordinator import Coordinator
from streamapp_runtime.driver.prepare import PreparedRun, tidy_outputs
from streamapp_runtime.driver.records import RunRecord, Summary, driver_record, save_record
from streamapp_runtime.fail_points import Step, Taking


def finish(prepared: PreparedRun, record: RunRecord, summary: Summary, store: MetadataStore, folder: Path) -> None:
    """Note that a run has completed.

    Raises:
        Superseded: a later epoch has begun.
        KubernetesError: the record can't be written.
    """
    with Taking(Step.RUN_FINISH):
        tidy_outputs(prepared.plan, folder)
        record = msgspec.structs.replace(record, summary=summary)
        coordinator = Coordinator(prepared.plan.app, prepared.plan.default_system, folder)
        coordinator.announce(driver_record(record), prepared.model, time.time_ns() // 1_000_000)
        save_record(store, record)
