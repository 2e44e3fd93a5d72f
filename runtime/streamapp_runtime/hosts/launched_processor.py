"""The run of a processor that was launched from another process; drivers import nothing of this."""

import gc
import sys
import traceback
from pathlib import Path

from streamapp_runtime.errors import FAILURES, OUTAGES, TRANSIENT, SideInputChanged
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.hosts.processor_launch import ProcessorLaunch, ProcessorOutcome
from streamapp_runtime.processor.http_driver_channel import HttpChannel
from streamapp_runtime.processor.run_processor import run_processor


def run_launched(launch: ProcessorLaunch) -> ProcessorOutcome:
    """Run a launched processor to its end. The traceback of a defect goes to standard error."""
    collect_garbage_rarely()
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


def collect_garbage_rarely() -> None:
    """Make Python search for cyclic garbage rarely: rows are many objects without cycles, and searches visit all."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
