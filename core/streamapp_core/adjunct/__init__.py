"""Adjunct stores: what is done with the store of a table that side inputs fill (design 8)."""

from streamapp_core.adjunct.changes import Changes, last_changes
from streamapp_core.adjunct.recovery import Action, Extent, Found, Recovery, StoreRecord, recovery

__all__ = ["Action", "Changes", "Extent", "Found", "Recovery", "StoreRecord", "last_changes", "recovery"]
