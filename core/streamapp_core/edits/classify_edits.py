"""Classification of the edits between two versions of a spec (docs/edits.md)."""

from collections.abc import Iterable, Iterator

from streamapp_core.edits.edit_classes import EditClass, FieldEdit, Path, field_class
from streamapp_core.edits.spec_differences import Difference, differences
from streamapp_core.edits.state_edits import state_changers
from streamapp_core.plan.delivery import default_system
from streamapp_core.plan.plan import Plan
from streamapp_core.plan.planner import plan
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.tasks.expansion import MODULO

_GRAPH = ("streams", "tables", "operators")
_RUN_ID = ("runId",)
_DEFAULT_SYSTEM = ("defaultSystem",)
_ADDRESS = (("name",), ("system",))


def classify_edits(old: StreamApp, new: StreamApp, *, run_id: str | None = None) -> tuple[FieldEdit, ...]:
    """Return the edits between two specs, with the effect of each on the running app.

    Edits of streams, tables and operators need a new run where state or keys change, and where streams that are read,
    checkpoints or state would be elsewhere. The plans show that, so if one of the specs has problems, these edits count
    as a restart.

    Args:
        old: the spec that runs.
        new: the spec to run instead.
        run_id: the active run id, if the old spec does not have it.
    """
    found = tuple(differences(old.spec, new.spec))
    edited = frozenset(edit.field[1] for edit in found if edit.field[0] in _GRAPH)
    before, after = _plan(old), _plan(new)
    changers: frozenset[str] = frozenset()
    moved = frozenset[Path]()
    if default_system(old.spec) != default_system(new.spec):
        moved |= {_DEFAULT_SYSTEM}
    if before is not None and after is not None:
        changers = state_changers(before, after, edited)
        moved |= frozenset(_moved_fields(before, after))
    active = old.spec.run_id or run_id
    return tuple(
        FieldEdit(
            field=edit.field,
            before=edit.before,
            after=edit.after,
            edit_class=_edit_class(edit, changers, moved, active),
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
        if edit.field[0] not in _GRAPH or field_class(edit.field) is EditClass.NEW_RUN
    )


def _plan(app: StreamApp) -> Plan | None:
    """Plan for the shapes of state alone; these depend neither on partition counts nor on the expansion algorithm."""
    parsed = ParsedApp(app=app, problems=(), broken=frozenset())
    return plan(parsed, dict.fromkeys(app.spec.streams, 1), algorithms=lambda _: MODULO).plan


def _moved_fields(old: Plan, new: Plan) -> Iterator[Path]:
    """Find the fields whose edit leaves behind what the run goes by: offsets, or checkpoints and state."""
    for name in old.streams.keys() & new.streams.keys():
        before, after = old.streams[name], new.streams[name]
        if before.consumers and after.consumers:
            if before.system != after.system:
                yield ("streams", name, "system")
            if before.address != after.address:
                yield ("streams", name, "name")
    used = {old.default_system, *(stream.system for stream in old.streams.values() if stream.consumers)}
    earlier, later = old.app.spec.systems, new.app.spec.systems
    for system in used & earlier.keys() & later.keys():
        if earlier[system].kind is not later[system].kind:
            yield ("systems", system)


def _edit_class(edit: Difference, changers: frozenset[str], moved: frozenset[Path], run_id: str | None) -> EditClass:
    if edit.field == _RUN_ID and edit.after in (None, run_id):
        return EditClass.NONE
    if edit.field in moved or edit.field[:2] in moved:
        return EditClass.NEW_RUN
    if edit.field == _DEFAULT_SYSTEM or (edit.field[0] == "streams" and edit.field[2:] in _ADDRESS):
        return EditClass.RESTART
    edit_class = field_class(edit.field)
    if edit.field[0] in _GRAPH and edit.field[1] in changers and edit_class is EditClass.RESTART:
        return EditClass.NEW_RUN
    return edit_class


def _shown(value: object) -> str:
    return "nothing" if value is None else f"`{value}`"
