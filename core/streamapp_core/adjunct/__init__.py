"""Adjunct stores: the recovery and the changes of a table that side inputs fill (docs/adjunct-stores.md)."""

from streamapp_core.adjunct.changes import Changes, last_changes
from streamapp_core.adjunct.recovery import Extent, NoStoreRecord, Recovery, StoreAction, StoreRecord, plan_recovery

__all__ = [
    "Changes",
    "Extent",
    "NoStoreRecord",
    "Recovery",
    "StoreAction",
    "StoreRecord",
    "last_changes",
    "plan_recovery",
]
