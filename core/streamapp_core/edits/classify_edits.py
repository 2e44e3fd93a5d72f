"""Classification of the edits between two versions of a spec (docs/edits.md)."""

from collections.abc import Iterable

from streamapp_core.edits.edit_classes import EditClass, FieldEdit, field_class
from streamapp_core.edits.spec_differences import Difference, differences
from streamapp_core.edits.state_edits import state_changers
from streamapp_core.plan.plan import Plan
from streamapp_core.plan.planner import plan
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.tasks.expansion import MODULO

_GRAPH = ("streams", "tables", "operators")
_RUN_ID = ("runId",)


def classify_edits(old: StreamApp, new: StreamApp, *, run_id: str | None = None) -> tuple[FieldEdit, ...]:
    """Return the edits between two specs, with the effect of each on the running app.

    Edits of streams, tables and operators need a new run where state or keys change. The plans show that, so
    if one of the specs has problems, these edits count as a restart.

    Args:
        old: the spec that runs.
        new: the spec to run instead.
        run_id: the active run id, if the old spec does not have it.
    """
    found = tuple(differences(old.spec, new.spec))
    edited = frozenset(edit.field[1] for edit in found if edit.field[0] in _GRAPH)
    before, after = _plan(old), _plan(new)
    changers: frozenset[str] = frozenset()
    if before is not None and after is not None:
        changers = state_changers(before, after, edited)
    active = old.spec.run_id or run_id
    return tuple(
        FieldEdit(
            field=edit.field, before=edit.before, after=edit.after, edit_class=_edit_class(edit, changers, active)
        )
        for edit in found
    )


def run_id_problems(edits: Iterable[FieldEdit]) -> tuple[Problem, ...]:
    """Return a problem for each field that is fixed for a run and differs, unless the run id does.

    The planner does not check these. (It does check the state and the keys of the graph, given the previous run.)
    """
    fixed = [edit for edit in edits if edit.edit_class is EditClass.NEW_RUN]
    if any(edit.field == _RUN_ID for edit in fixed):
        return ()
    return tuple(
        Problem(
            path=edit.path,
            code=ProblemCode.RUN_ID_REQUIRED,
            message=f"{_shown(edit.before)} can't become {_shown(edit.after)} within a run; set a new `spec.runId` to "
            "start from nothing, or undo the edit",
        )
        for edit in fixed
        if field_class(edit.field) is EditClass.NEW_RUN
    )


def _plan(app: StreamApp) -> Plan | None:
    """Plan for the shapes of state alone; these depend neither on partition counts nor on the expansion algorithm."""
    parsed = ParsedApp(app=app, problems=(), broken=frozenset())
    return plan(parsed, dict.fromkeys(app.spec.streams, 1), algorithms=lambda _: MODULO).plan


def _edit_class(edit: Difference, changers: frozenset[str], run_id: str | None) -> EditClass:
    if edit.field == _RUN_ID and edit.after in (None, run_id):
        return EditClass.NONE
    edit_class = field_class(edit.field)
    if edit.field[0] in _GRAPH and edit.field[1] in changers and edit_class is EditClass.RESTART:
        return EditClass.NEW_RUN
    return edit_class


def _shown(value: object) -> str:
    return "nothing" if value is None else f"`{value}`"
