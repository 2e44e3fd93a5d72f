"""A mutation of the code: a defect that simulations must find."""

from dataclasses import dataclass

from simulation.fault_schedules import FaultKind
from support.changed_packages import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """A defect: changes of the code that belong together. Several leave out all guards against the same danger.

    `needs` are faults without which it can't be seen; `shows` are properties of `AppShape`: only apps that have them
    all show it.
    """

    name: str
    changes: tuple[Change, ...]
    needs: frozenset[FaultKind] = frozenset()
    shows: frozenset[str] = frozenset()
