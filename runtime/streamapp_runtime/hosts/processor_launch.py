"""The launch of a processor in another process, and its outcome there: values that travel as JSON."""

import sys
import traceback
from pathlib import Path

import msgspec

from streamapp_runtime.errors import FAILURES, OUTAGES, TRANSIENT, ProcessorFailed, ProcessorLost, SideInputChanged
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.processor.http_driver_channel import ChannelAddress, HttpChannel
from streamapp_runtime.processor.processor_report import ProcessorConfig, ProcessorReport
from streamapp_runtime.processor.run_processor import run_processor
from streamapp_systems.protocols import Unavailable


class ProcessorLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a worker process: the configuration of its processor, and where the driver listens."""

    config: ProcessorConfig
    address: ChannelAddress


class ProcessorOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a processor: its last report, or a failure meant for people, or why it may be restarted.

    `unavailable`: it was lost since a system is away. `side_input_changed` says which file has changed under the run.
    """

    report: ProcessorReport | None = None
    failure: str | None = None
    lost: str | None = None
    unavailable: bool = False
    side_input_changed: str | None = None


decode_launch = msgspec.json.Decoder(ProcessorLaunch).decode
decode_outcome = msgspec.json.Decoder(ProcessorOutcome).decode


def run_launched(launch: ProcessorLaunch) -> ProcessorOutcome:
    """Run a launched processor to its end. The traceback of a defect goes to standard error."""
    context = local_context(Path(launch.config.folder))
    try:
        return ProcessorOutcome(report=run_processor(launch.config, HttpChannel(launch.address), context))
    except SideInputChanged as changed:
        return ProcessorOutcome(side_input_changed=str(changed))
    except TRANSIENT as error:
        return ProcessorOutcome(lost=str(error), unavailable=isinstance(error, OUTAGES))
    except FAILURES as error:
        return ProcessorOutcome(failure=str(error))
    except Exception as error:  # noqa: BLE001 - the driver decides what follows
        traceback.print_exc(file=sys.stderr)
        return ProcessorOutcome(lost=f"{type(error).__name__}: {error}")


def final_report(outcome: ProcessorOutcome, processor: str) -> ProcessorReport:
    """Return the last report of a processor.

    Raises:
        ProcessorFailed: it failed in a way that a restart does not mend.
        ProcessorLost, Unavailable: it may be restarted.
        SideInputChanged: all processors must start again with the new version.
    """
    if outcome.side_input_changed is not None:
        raise SideInputChanged(outcome.side_input_changed)
    if outcome.failure is not None:
        raise ProcessorFailed(f"processor {processor}: {outcome.failure}")
    if outcome.report is None:
        raise Unavailable(outcome.lost) if outcome.unavailable else ProcessorLost(outcome.lost)
    return outcome.report
