"""The CRD and the planner agree: what the planner accepts is stored, and means the same once it is."""

from copy import deepcopy

from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.spec.parse import parse_document
from support.custom_resources import SCHEMA, defaulted, refusals, unknown_fields, visit
from support.edited_apps import RIGHT, edited_apps
from support.plan_documents import planned


@settings(max_examples=300)
@given(edited_apps())
def test_what_the_planner_accepts_is_stored(edited):
    vector, app = edited
    reasons = refusals(app)
    if reasons and app["spec"].get("image") and not parse_document(app).problems:
        counts = {name: stream["partitions"] for name, stream in vector["streams"].items()}
        assert planned(app, counts).plan is None, reasons


@given(st.sampled_from(RIGHT))
def test_defaults_are_those_of_the_models(vector):
    stored = defaulted(vector["app"])
    assert parse_document(stored).app == parse_document(vector["app"]).app


def test_null_lets_a_store_be_of_any_age():
    app = deepcopy(next(vector["app"] for vector in RIGHT if vector["app"]["spec"].get("tables")))
    table = next(iter(app["spec"]["tables"]))
    app["spec"]["tables"][table]["maxAge"] = None
    assert refusals(app) == []
    assert parse_document(defaulted(app)).app.spec.tables[table].max_age is None


@given(st.data())
def test_an_unknown_field_anywhere_is_found(data):
    app = deepcopy(data.draw(st.sampled_from(RIGHT))["app"])
    closed = [
        (path, value)
        for path, schema, value in visit(SCHEMA, app)
        if isinstance(value, dict) and "properties" in schema and "x-kubernetes-preserve-unknown-fields" not in schema
    ]
    path, holder = data.draw(st.sampled_from(closed))
    holder["surprise"] = 1
    assert list(unknown_fields(app)) == [f"{path}.surprise"]


@given(st.data())
def test_an_operator_with_another_number_of_kinds_is_refused(data):
    app = deepcopy(data.draw(st.sampled_from(RIGHT))["app"])
    operator = data.draw(st.sampled_from(app["spec"]["operators"]))
    (kind,) = set(operator) - {"name", "from"}
    if data.draw(st.booleans()):
        del operator[kind]
    else:
        operator["broadcast" if kind == "merge" else "merge"] = {}
    assert any("exactly one kind" in reason or "anyOf" in reason for reason in refusals(app))
