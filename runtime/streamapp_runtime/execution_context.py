"""The surroundings that a driver or a processor runs in: systems, clocks, threads, randomness and the machine."""

import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

from streamapp_runtime.threads import OperatingSystemThreads, Threads
from streamapp_systems.clock import Clock, system_clock
from streamapp_systems.registry import Systems, local_systems

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class EndTurn(Protocol):
    """Is told the end of each turn of a processor's loop, once its side inputs are read."""

    def __call__(self, *, quiet: bool) -> None:
        """Take whether the turn neither read nor wrote anything, and nothing waits to be written."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionContext:
    """The surroundings of a driver or a processor; files and LMDB it opens itself.

    `boot_id` identifies this boot of the machine: after a crash it is another one. Of the windows that
    are due, at most `results_at_once` are closed in one step; None: as many as a commit may have. More than
    `values_inline` values of a group are entries of their own in its store; None: as many as are no burden to it.
    A processor tells `end_turn` of its turns.
    """

    systems: Systems
    clock: Clock
    threads: Threads
    random: Random
    boot_id: str
    results_at_once: int | None = None
    values_inline: int | None = None
    end_turn: EndTurn | None = None


def local_context(folder: Path) -> ExecutionContext:
    """Return the context of this process; relative paths of the spec resolve from `folder`."""
    return ExecutionContext(
        systems=local_systems(folder),
        clock=system_clock(),
        threads=OperatingSystemThreads(),
        random=Random(),  # noqa: S311 - samples, no secrets
        boot_id=_read_boot_id(),
    )


def _read_boot_id() -> str:
    """Return what identifies this boot of the machine; where the system has no such id, one that is never equal."""
    try:
        boot_id = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        boot_id = ""
    return boot_id or str(time.time_ns())
