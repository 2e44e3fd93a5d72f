"""Apps in Python: calls have the fields of the spec, and make the same resource as YAML."""

import inspect
import sys
from enum import StrEnum
from typing import Literal, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from streamapp_api import App, Stream, spec_parts
from streamapp_api.written_fields import call_parameters
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.functions import FunctionSpec
from streamapp_core.spec.operators import OperatorKind, OperatorSpec
from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import SystemKind, SystemSpec
from streamapp_core.spec.tables import TableSpec
from streamapp_core.spec.yaml_document import read_document, write_document
from streamapp_runtime.errors import PlanRefused, RuntimeFailure
from support.repository import ROOT

ROWS = (
    "id,item,amount,at\n1,tea,2.5,2024-05-01T09:15:00Z\n2,cake,4,2024-05-01T09:20:00Z\n3,tea,3,2024-05-01T10:16:00Z\n"
)
SCHEMA = "id int, item string, amount double, at timestamp"
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*/*.yaml") if "kind: StreamApp\n" in path.read_text())
DECLARED_BY_CALLS = {"systems", "streams", "tables", "functions", "operators"}


def nested_models(annotation):
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from nested_models(part)


def snake(name):
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def model_of(owner, field):
    return next(nested_models(owner.model_fields[field].annotation), None)


def calls():
    """Give each call, its model, and the parameters that are no fields of it."""
    yield "App", App.__init__, StreamAppSpec, {"self", "name", "namespace", "folder"}
    yield "stream", App.stream, StreamSpec, {"self", "declared"}
    yield "table", App.table, TableSpec, {"self", "name"}
    yield "function", App.function, FunctionSpec, {"self", "name"}
    for kind in SystemKind:
        yield f"{kind}_system", getattr(App, f"{kind}_system"), model_of(SystemSpec, kind), {"self", "name"}
    for kind in OperatorKind:
        model = model_of(OperatorSpec, snake(kind))
        if model is not None and model.model_fields:
            yield kind, getattr(Stream, snake(kind)), model, {"self", "name"}


CALLS = [pytest.param(*call, id=call[0]) for call in calls()]


def values(annotation):
    """Give the values of the literals in the annotation of a parameter."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    return {value for part in get_args(annotation) for value in values(part)}


def enum_values(annotation):
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return set(map(str, annotation))
    if get_origin(annotation) is Literal:
        return {value for value in get_args(annotation) if value != "forever"}
    return {value for part in get_args(annotation) for value in enum_values(part)}


@pytest.mark.parametrize("name, call, model, others", CALLS)
def test_a_call_has_a_parameter_for_each_field(name, call, model, others):
    declared = DECLARED_BY_CALLS if model is StreamAppSpec else set()
    fields = {parameter: field for parameter, field in call_parameters(model).items() if parameter not in declared}
    parameters = inspect.signature(call).parameters
    assert set(parameters) - others == set(fields) or set(parameters) == {"self", "declared", *fields}
    for parameter, field in fields.items():
        default = parameters[parameter].default
        if field.is_required():
            assert default is inspect.Parameter.empty or (name, parameter) == ("function", "function")
        elif not (default is None and not isinstance(field.default, str)):
            assert default == field.default
        assert values(parameters[parameter].annotation) == enum_values(field.annotation)


@pytest.mark.parametrize("kind", OperatorKind)
def test_every_kind_of_operator_is_a_call(kind):
    assert callable(getattr(App if kind in (OperatorKind.MERGE, OperatorKind.SQL) else Stream, snake(kind)))


def typed_dicts(annotation):
    if isinstance(annotation, type) and hasattr(annotation, "__required_keys__"):
        yield annotation
    for part in get_args(annotation):
        yield from typed_dicts(part)


def typed_objects():
    """Give each type of an object in calls, with its model."""
    waiting = [
        (inspect.signature(call).parameters[name].annotation, field.annotation)
        for _, call, model, _ in calls()
        for name, field in call_parameters(model).items()
        if name not in DECLARED_BY_CALLS
    ]
    while waiting:
        here, there = waiting.pop()
        for typed, model in zip(typed_dicts(here), nested_models(there), strict=False):
            yield typed, model
            hints = get_type_hints(typed)
            waiting += [(hints.get(name), field.annotation) for name, field in call_parameters(model).items()]


def test_objects_have_the_fields_of_their_models():
    seen = dict(typed_objects())
    assert {typed.__name__ for typed in seen} == {
        name for name, part in vars(spec_parts).items() if hasattr(part, "__required_keys__") and name != "TypedDict"
    }
    for typed, model in seen.items():
        fields = call_parameters(model)
        assert set(get_type_hints(typed)) == set(fields), typed
        assert typed.__required_keys__ == {name for name, field in fields.items() if field.is_required()}, typed
        for name, hint in get_type_hints(typed).items():
            assert values(hint) == enum_values(fields[name].annotation), (typed, name)


def arguments(model, written):
    """Give an object of a document as the arguments of a call."""
    names = {
        field.alias or name: parameter for parameter, field in call_parameters(model).items() for name in [parameter]
    }
    return {names[name]: value for name, value in written.items()}


def rebuilt(document):
    """Write a resource again in Python."""
    spec = document["spec"]
    settings = {name: value for name, value in spec.items() if name not in DECLARED_BY_CALLS}
    app = App(document["metadata"]["name"], **arguments(StreamAppSpec, settings))
    for name, system in spec["systems"].items():
        ((kind, value),) = system.items()
        getattr(app, f"{kind}_system")(name, **arguments(model_of(SystemSpec, kind), value))
    readable = {name: app.stream(name, **arguments(StreamSpec, value)) for name, value in spec["streams"].items()}
    for name, value in spec.get("tables", {}).items():
        extractor = {"extractor": value["extractor"]["function"]} if "extractor" in value else {}
        app.table(name, **arguments(TableSpec, value) | extractor)
    for name, value in spec.get("functions", {}).items():
        app.function(name=name, **arguments(FunctionSpec, value))
    for operator in spec["operators"]:
        (kind,) = operator.keys() - {"name", "from"}
        name, value, model = operator["name"], operator[kind], model_of(OperatorSpec, snake(kind))
        if kind == "sql":
            readable[name] = app.sql(value, name=name)
        elif kind == "merge":
            readable[name] = app.merge(operator["from"], name=name)
        else:
            source = operator["from"] if isinstance(operator["from"], str) else operator["from"][0]
            call = getattr(readable.get(source) or Stream(app._declared, source), snake(kind))
            given = arguments(model, value) if model is not None else {}
            readable[name] = call(**given, name=name) if model is not None else call(value, name=name)
    return app


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_examples_in_python_are_the_same_resource(path):
    document, _ = read_document(path.read_text())
    assert parse_text(rebuilt(document).yaml()).app.spec == parse_text(path.read_text()).app.spec


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), include_characters="\n\t"))
ODD = st.sampled_from(
    ["on", "no", "1e3", "0x1f", "1_000", "2024-01-01", "~", "", "null", "1:30", ".5", " a", "a: b", "#"]
)


@given(
    st.dictionaries(
        st.text("abc-", min_size=1),
        st.recursive(
            TEXTS | ODD | st.booleans() | st.integers() | st.none(),
            lambda parts: st.lists(parts) | st.dictionaries(ODD | TEXTS, parts),
            max_leaves=8,
        ),
        min_size=1,
    )
)
def test_documents_are_read_as_they_were_written(document):
    text = write_document(document)
    assert read_document(text) == (document, ())
    yaml.safe_load(text)


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders/1.csv").write_text(ROWS)
    app = App("shop", default_system="log", folder=tmp_path)
    files = app.file_system("files", path=".")
    app.log_system("log", path=".streamapp/shop/log.db")
    orders = app.stream("orders", system=files, format="csv", schema=SCHEMA, event_time={"column": "at"})
    return app, files, orders


def test_functions_run_as_the_objects_they_are(shop):
    app, files, orders = shop
    limit = 2.75

    @app.function(returns="double", parameters="a double")
    def twice_of(a):
        return pc.multiply(a, 2)

    def large(rows):
        return rows.append_column("large", pc.greater(rows["amount"], limit))

    marked = orders.map("id, item, twice_of(amount) / 2 as amount, at").process(
        large, schema=f"{SCHEMA}, large boolean", name="marked"
    )
    marked.send_to(app.stream("rows", system=files, format="parquet"))
    totals = marked.partition_by("item").aggregate(by=["item"], select="sum(amount) as amount", name="totals")
    totals.send_to(app.stream("by-item", system=files, changes="final"))
    totals.send_to(app.stream("news", system=files))
    assert app.plan().accepted
    with pytest.raises(PlanRefused) as refused:
        app.yaml()
    assert [problem.code for problem in refused.value.problems] == ["InvalidSpec"] * 2
    result = app.run(quiet=True)
    assert sorted(result["rows"].arrow().select(["id", "large"]).to_pylist(), key=lambda row: row["id"]) == [
        {"id": 1, "large": False},
        {"id": 2, "large": True},
        {"id": 3, "large": True},
    ]
    assert result["rows"].arrow().schema.field("at").type == pa.timestamp("us", tz="UTC")
    assert sorted(map(tuple, (row.values() for row in result["by-item"].arrow().to_pylist()))) == [
        ("cake", 4.0),
        ("tea", 5.5),
    ]
    with pytest.raises(RuntimeFailure, match="`final`"):
        result["news"]
    with pytest.raises(RuntimeFailure, match="no output rose; it writes"):
        result["rose"]
    assert not [name for name in sys.modules if name.startswith("streamapp_functions_of_")]
    with pytest.raises(PlanRefused, match="can't be imported from a module"):
        app.run(host="processes")


def test_problems_name_the_lines_of_their_calls(shop):
    app, _, orders = shop
    orders.filter("amout > 1", name="f").send_to("nowhere")
    planned = app.plan()
    assert not planned.accepted
    line = inspect.currentframe().f_lineno - 3
    assert [problem.path for problem in planned.problems] == [
        f"spec.operators[0].filter (test_python_app.py:{line})",
        f"spec.operators[1].sendTo (test_python_app.py:{line})",
    ]
    assert "UnknownStream" in repr(planned)
    assert "UnknownStream" in planned._repr_html_()


def test_what_is_declared_twice_or_in_another_app_is_refused_at_once(shop):
    app, files, orders = shop
    orders.filter("id > 1")
    with pytest.raises(ValueError, match=r"`orders-filter` is declared already at test_python_app\.py"):
        orders.filter("id > 2")
    with pytest.raises(ValueError, match="`orders` is declared already"):
        app.stream("orders", system=files)
    with pytest.raises(ValueError, match="of another App"):
        App("other").merge([orders, "x"])
