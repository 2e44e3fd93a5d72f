"""Apps in Python: calls have the fields of the spec, and make the same resource as YAML."""

import inspect
import sys
import textwrap
import threading
from datetime import timedelta
from typing import get_args, get_origin

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from mypy import api as mypy
from pydantic import BaseModel

from streamapp_api import App, Stream
from streamapp_api.written_fields import call_parameters
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.base import parameter_name
from streamapp_core.spec.functions import FunctionSpec
from streamapp_core.spec.operators import OperatorKind, OperatorSpec
from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import SystemKind, SystemSpec
from streamapp_core.spec.tables import TableSpec
from streamapp_core.spec.yaml_document import read_document
from streamapp_runtime.errors import PlanRefused, RuntimeFailure
from support.repository import ROOT

ROWS = (
    "id,item,amount,at\n1,tea,2.5,2024-05-01T09:15:00Z\n2,cake,4,2024-05-01T09:20:00Z\n3,tea,3,2024-05-01T10:16:00Z\n"
)
SCHEMA = "id int, item string, amount double, at timestamp"
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*/*.yaml") if "kind: StreamApp\n" in path.read_text())
DECLARED_BY_CALLS = {"systems", "streams", "tables", "functions", "operators"}


def nested_models(annotation):
    """Give the models of objects of a type; none of a mapping with names of its own."""
    if get_origin(annotation) is dict:
        return
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from nested_models(part)


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
        model = model_of(OperatorSpec, parameter_name(kind))
        if model is not None and model.model_fields:
            yield kind, getattr(Stream, parameter_name(kind)), model, {"self", "name"}


CALLS = [pytest.param(*call, id=call[0]) for call in calls()]


@pytest.mark.parametrize("name, call, model, others", CALLS)
def test_a_call_shows_a_parameter_for_each_field(name, call, model, others):
    declared = DECLARED_BY_CALLS if model is StreamAppSpec else set()
    parameters = inspect.signature(call).parameters
    assert set(parameters) - others | {"name"} == call_parameters(model).keys() - declared | {"name"}
    required = {name for name, field in call_parameters(model).items() if field.is_required()} - declared
    assert {name for name in required if parameters[name].default is not inspect.Parameter.empty} <= {"function"}


@pytest.mark.parametrize("kind", OperatorKind)
def test_every_kind_of_operator_is_a_call(kind):
    assert callable(getattr(App if kind in (OperatorKind.MERGE, OperatorKind.SQL) else Stream, parameter_name(kind)))


def arguments(model, written):
    """Give an object of a document as the arguments of a call, objects in it among them."""
    fields = {field.alias or parameter: (parameter, field) for parameter, field in call_parameters(model).items()}

    def inner(value, field):
        nested = next(nested_models(field.annotation), None)
        if isinstance(value, list):
            return [inner(part, field) for part in value]
        return arguments(nested, value) if nested is not None and isinstance(value, dict) else value

    return {fields[name][0]: inner(value, fields[name][1]) for name, value in written.items()}


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
        name, value, model = operator["name"], operator[kind], model_of(OperatorSpec, parameter_name(kind))
        if kind == "sql":
            readable[name] = app.sql(value, name=name)
        elif kind == "merge":
            readable[name] = app.merge(operator["from"], name=name)
        else:
            source = operator["from"] if isinstance(operator["from"], str) else operator["from"][0]
            call = getattr(readable.get(source) or Stream(app._declared, source), parameter_name(kind))
            given = arguments(model, value) if model is not None else {}
            readable[name] = call(**given, name=name) if model is not None else call(value, name=name)
    return app


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_examples_in_python_are_the_same_resource(path):
    document, _ = read_document(path.read_text())
    assert parse_text(rebuilt(document).yaml()).app.spec == parse_text(path.read_text()).app.spec


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


def test_what_is_given_is_written_as_given():
    app = App("shop", deletion_policy="Retain", restart_policy={"max_restarts": None}, processors={"count": 1})
    app.log_system("log", path="log.db")
    assert read_document(app.yaml())[0]["spec"] == {
        "deletionPolicy": "Retain",
        "restartPolicy": {"maxRestarts": None},
        "processors": {"count": 1},
        "systems": {"log": {"log": {"path": "log.db"}}},
    }


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda app, orders: orders.window(tumbling="1h", selct="count(*) as n"), "did you mean `select`"),
        (lambda app, orders: orders.top_n(by=["item"], orderBy="amount", n=1), "did you mean `order_by`"),
        (lambda app, orders: app.stream("x", system="log", event_time={"colum": "at"}), "did you mean `column`"),
        (lambda app, orders: orders.join(orders, on="id", zzz=1), "has no field `zzz`; there are with_, on, type"),
    ],
)
def test_names_of_no_field_are_refused_at_once(shop, call, message):
    app, _, orders = shop
    with pytest.raises(TypeError, match=message):
        call(app, orders)


def test_a_length_of_time_that_is_no_text_says_how_to_write_it(shop):
    _, _, orders = shop
    with pytest.raises(TypeError, match="a length of time is a text, such as '5m'"):
        orders.window(tumbling=timedelta(hours=1), select="count(*) as n")


def test_an_app_runs_beside_the_main_thread(shop):
    app, files, orders = shop
    orders.filter("id > 1").send_to(app.stream("some", system=files))
    found = []
    thread = threading.Thread(target=lambda: found.append(app.run(quiet=True)["some"].arrow().num_rows))
    thread.start()
    thread.join()
    assert found == [2]


def test_a_host_that_there_is_not_is_refused_with_those_that_there_are(shop):
    with pytest.raises(ValueError, match="no host 'flink': it is one of spark, processes, in-process"):
        shop[0].run(host="flink")


def test_an_installation_that_only_plans_says_what_runs_need(shop, monkeypatch):
    app, files, orders = shop
    orders.send_to(app.stream("copy", system=files))
    monkeypatch.setitem(sys.modules, "streamapp_api.app_run", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'streamapp-operator\[runtime\]'"):
        app.run()


def test_type_checkers_know_the_fields_of_calls(tmp_path):
    file = tmp_path / "app.py"
    file.write_text(
        textwrap.dedent("""
        from streamapp_api import App
        app = App("shop", job={"delivery": "exactlyOnce"})
        orders = app.stream("orders", system="log", event_time={"column": "at", "idle_timeout": "1m"})
        orders.window(tumbling="1h", by=["item"], select="count(*) as n").send_to("totals")
        @app.function(returns="double")
        def twice(value: float) -> float:
            return 2 * value
        twice(1.0)
        orders.window(tumbling=60)
        orders.dedup(keep="first")
        orders.join("x", on="id", typo="inner")
        app.stream("x", system="log", format="jsn")
        App("y", job={"deliver": "exactlyOnce"})
        """)
    )
    found, _, _ = mypy.run(["--strict", "--config-file", str(ROOT / "pyproject.toml"), str(file)])
    errors = [line.split("app.py:")[1].split(":")[0] for line in found.splitlines() if ": error:" in line]
    assert errors == ["10", "11", "12", "13", "14"], found
