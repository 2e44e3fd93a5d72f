"""The check of a worker of a standalone cluster: it has the driver's StreamApp, and reaches the app's streams.

Logs and files are on one machine's disks. A worker elsewhere would find other ones there, or make its own, so that it
refuses them before it has touched anything.
"""

from importlib.metadata import version
from pathlib import Path

import msgspec

from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.execution_context import local_context

_SERVERS = (SystemKind.KAFKA, SystemKind.POSTGRESQL)
_DISTRIBUTION = "streamapp-operator"


class DriverMachine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of a driver by its boot, a file of the driver there, and its version of StreamApp."""

    boot_id: str
    file: str
    version: str


def describe_this_machine(file: Path) -> DriverMachine:
    """Return what this machine is known by on workers; the file exists."""
    boot_id = local_context(file.parent).boot_id
    return DriverMachine(boot_id=boot_id, file=str(file), version=version(_DISTRIBUTION))


def find_difference(app: StreamApp, driver: DriverMachine, here: DriverMachine) -> str | None:
    """Return why a processor can't run here, on a worker's machine; None if it can."""
    if driver.version != here.version:
        return (
            f"this worker has StreamApp {here.version}, and the driver {driver.version}: install the driver's on all "
            "workers"
        )
    local = sorted(name for name, system in app.spec.systems.items() if system.kind not in _SERVERS)
    if local and not (driver.boot_id == here.boot_id and Path(driver.file).exists()):
        return (
            f"this worker is on another machine than the driver, and {', '.join(local)} of spec.systems on the "
            "driver's: there only systems of Kafka and PostgreSQL are the same; use those, or workers of the driver's "
            "machine"
        )
    return None
