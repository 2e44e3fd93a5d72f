"""The edits of a spec that a run on this machine, which has not ended, can take up (docs/edits.md)."""

from streamapp_core.edits.edit_classes import EditClass, FieldEdit, field_class
from streamapp_core.edits.spec_differences import Difference, differences
from streamapp_core.spec.app import StreamApp, StreamAppSpec
from streamapp_runtime.errors import SpecChanged

_SETTINGS = {("systems", "kafka"), ("streams", "recordTime")}
"""Parts of the spec that may be edited in a run, besides those of the job and of Spark: the name between is any."""


def check_edits(previous: str, app: StreamApp, run_id: str) -> None:
    """Refuse edits that a run can't continue with; settings of its job, Spark, clients and records may have changed.

    `previous` is the spec that the run had, as JSON. What is known of the streams was taken when the run began, so
    edits of the graph wait for a new run.

    Raises:
        SpecChanged: something else was edited; the message names it.
    """
    refused = edits_of_new_runs(StreamAppSpec.model_validate_json(previous), app.spec)
    if refused:
        raise SpecChanged(
            f"{', '.join(refused)}: the app is not the one that run {run_id} began with, and the run has not ended: "
            "put the YAML back as it was to continue, or start from the beginning with --fresh"
        )


def edits_of_new_runs(previous: StreamAppSpec, spec: StreamAppSpec) -> list[str]:
    """Return the paths of the edits that a run of the previous spec can't continue with."""
    edits = [_edit(found) for found in differences(previous, spec)]
    return [edit.path for edit in edits if not _is_setting(edit)]


def _edit(found: Difference) -> FieldEdit:
    return FieldEdit(field=found.field, before=found.before, after=found.after, edit_class=field_class(found.field))


def _is_setting(edit: FieldEdit) -> bool:
    setting = edit.field[0] in ("job", "spark") or (edit.field[0], *edit.field[2:3]) in _SETTINGS
    return edit.edit_class is EditClass.NONE or (edit.edit_class is EditClass.RESTART and setting)
