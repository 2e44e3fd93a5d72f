"""Edits of a spec: the effect of each field's change on a running app (docs/edits.md)."""

from streamapp_core.edits.classify_edits import classify_edits, run_id_problems
from streamapp_core.edits.compare_specs import Comparison, compare_specs
from streamapp_core.edits.edit_classes import EditClass, FieldEdit

__all__ = ["Comparison", "EditClass", "FieldEdit", "classify_edits", "compare_specs", "run_id_problems"]
