"""Edits of a spec: what each field's change does to a running app (design 10, spec edits)."""

from streamapp_core.edits.classify_edits import classify, run_id_problems
from streamapp_core.edits.compare_specs import Comparison, compare
from streamapp_core.edits.edit_classes import EditClass, FieldEdit

__all__ = ["Comparison", "EditClass", "FieldEdit", "classify", "compare", "run_id_problems"]
