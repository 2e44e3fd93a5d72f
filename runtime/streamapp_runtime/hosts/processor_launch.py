"""The launch of a processor in another process, and its outcome there: values that travel as JSON."""

import msgspec

from streamapp_runtime.errors import ProcessorFailed, ProcessorLost, SideInputChanged
from streamapp_runtime.processor.http_driver_channel import ChannelAddress
from streamapp_runtime.processor.processor_report import ProcessorConfig, ProcessorReport
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
