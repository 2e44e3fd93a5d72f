"""Edits that a run may continue with leave everything where it is that the run goes by."""

from copy import deepcopy

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from streamapp_core.edits.compare_specs import compare_specs
from streamapp_core.edits.edit_classes import EditClass
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.plan.planner import plan
from streamapp_core.spec.parse import parse_document
from support.edited_apps import RIGHT, edited_apps


def places(planned):
    """Return where a plan has what a run goes by: offsets of streams that are read, and checkpoints with state."""
    read = {name: (stream.system, stream.address) for name, stream in planned.streams.items() if stream.consumers}
    kinds = {system: planned.app.spec.systems[system].kind for system, _ in read.values()}
    return read, kinds, planned.default_system, planned.app.spec.systems[planned.default_system].kind


RENAMED = st.tuples(st.sampled_from(["name", "system", "defaultSystem"]), st.sampled_from(["elsewhere", "other"]))


@st.composite
def renamed_apps(draw):
    """An accepted app of the vectors with a stream or the default system in another place."""
    vector = draw(st.sampled_from(RIGHT))
    app = deepcopy(vector["app"])
    field, value = draw(RENAMED)
    app["spec"]["systems"]["other"] = {"log": {"path": "other"}}
    if field == "defaultSystem":
        app["spec"]["defaultSystem"] = "other"
    else:
        app["spec"]["streams"][draw(st.sampled_from(sorted(app["spec"]["streams"])))][field] = value
    return vector, app


@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])
@given(edited_apps() | renamed_apps())
def test_an_accepted_edit_moves_nothing_that_the_run_goes_by(edit):
    vector, document = edit
    old, new = parse_document(vector["app"]), parse_document(document)
    counts = {name: stream["partitions"] for name, stream in vector["streams"].items()}
    before = plan(old, counts).plan
    assume(before is not None and new.app is not None)
    comparison = compare_specs(old.app, new, counts, build_job_model(before, None))
    after = plan(new, counts).plan
    assume(not comparison.problems and after is not None)
    if comparison.edit_class is EditClass.NEW_RUN:
        assert new.app.spec.run_id not in (None, before.run_id)
        return
    (read, kinds, *default), (read_later, kinds_later, *default_later) = places(before), places(after)
    assert default == default_later
    assert all(read[name] == read_later[name] for name in read.keys() & read_later.keys())
    assert all(kinds[system] is kinds_later[system] for system in kinds.keys() & kinds_later.keys())
    assert all(before.stores[name] == shape for name, shape in after.stores.items() if name in before.stores)
    assert all(after.partition_keys.get(name) == key for name, key in before.partition_keys.items())
