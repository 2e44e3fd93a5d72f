"""How a processor ended in another process: a value that travels as JSON, made there and understood by the driver."""

import sys
import traceback

import msgspec

from streamapp_runtime.errors import FAILURES, TRANSIENT, ProcessorFailed, ProcessorLost
from streamapp_runtime.processor.http_driver_channel import ChannelAddress, HttpChannel
from streamapp_runtime.processor.processor_report import ProcessorConfig, ProcessorReport
from streamapp_runtime.processor.run_processor import run_processor


class ProcessorLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker gets: the processor it is to be, and where its driver listens."""

    config: ProcessorConfig
    address: ChannelAddress


class ProcessorOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Exactly one of these: the last report, a failure meant for people, or why it may be tried again."""

    report: ProcessorReport | None = None
    failure: str | None = None
    lost: str | None = None


decode_launch = msgspec.json.Decoder(ProcessorLaunch).decode
decode_outcome = msgspec.json.Decoder(ProcessorOutcome).decode


def work(parcel: ProcessorLaunch) -> ProcessorOutcome:
    """Be the processor of a parcel to its end. A defect's trace goes to standard error."""
    try:
        return ProcessorOutcome(report=run_processor(parcel.config, HttpChannel(parcel.address)))
    except TRANSIENT as error:
        return ProcessorOutcome(lost=str(error))
    except FAILURES as error:
        return ProcessorOutcome(failure=str(error))
    except Exception as error:  # noqa: BLE001 - the driver decides what follows from it
        traceback.print_exc(file=sys.stderr)
        return ProcessorOutcome(lost=f"{type(error).__name__}: {error}")


def final_report(outcome: ProcessorOutcome, processor: str) -> ProcessorReport:
    """Give the last report of a processor.

    Raises:
        ProcessorFailed: it failed, and a person must look after it.
        ProcessorLost: it may be started again.
    """
    if outcome.failure is not None:
        raise ProcessorFailed(f"processor {processor}: {outcome.failure}")
    if outcome.report is None:
        raise ProcessorLost(outcome.lost)
    return outcome.report
