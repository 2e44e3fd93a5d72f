"""Fencing of zombies: producers of dead processors and of earlier epochs, which may still run, commit nothing any more.

Whoever initialises a transactional id aborts what is open under it; earlier producers of that id are refused from then
on, and all that they have committed can be read (docs/protocols.md, Zombies).
"""

from collections.abc import Collection, Iterable
from contextlib import closing

from streamapp_core.plan.plan import Plan
from streamapp_core.spec.app import StreamApp
from streamapp_runtime.app_streams import transaction_owner
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_systems.protocols import TransactionOwner
from streamapp_systems.registry import Systems


def fence_previous_epochs(record: RunRecord, run: PlannedRun, systems: Systems) -> None:
    """Fence every transactional id that this run, or one that it replaces, has ever used.

    Raises:
        Superseded: another driver has taken over.
        StreamSystemError: a system does not answer.
    """
    ids = sorted({*run.model.transactional_ids, *record.outdated_ids})
    owners = [TransactionOwner(id=id_, epoch=record.epoch) for id_ in ids]
    _fence(run.plan.app, [run.plan.default_system, *record.outdated], owners, systems)


def fence_processors(processors: Collection[str], plan: Plan, epoch: int, systems: Systems) -> None:
    """Fence all incarnations that have been started as these processors.

    Raises:
        Fenced: there is a later epoch; this driver is not the newest (log).
        StreamSystemError: a system does not answer.
    """
    owners = [transaction_owner(plan, processor, epoch) for processor in sorted(processors)]
    _fence(plan.app, [plan.default_system], owners, systems)


def _fence(app: StreamApp, names: Iterable[str], owners: Collection[TransactionOwner], systems: Systems) -> None:
    """Fence in those of the systems that the app still has."""
    for name in sorted(set(names)):
        if owners and name in app.spec.systems and app.spec.systems[name].kind.transactional:
            with closing(systems.open_transactional_admin(name, app.system(name))) as admin:
                admin.fence(list(owners))
