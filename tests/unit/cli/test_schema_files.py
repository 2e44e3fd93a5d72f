"""Schemas in files beside an app: found by all commands that read it, and put into the resource for Kubernetes."""

import io
import json

import fastavro
import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from streamapp_cli.plan_inputs import read_app
from streamapp_core.plan.planner import plan
from support import apps, log_messages
from support.log_messages import LogRecord

ORDER_FIELDS = [{"name": "id", "type": "long"}, {"name": "by", "type": "string"}]
ORDER = {"type": "record", "name": "Order", "fields": ORDER_FIELDS}
PAYMENT = """
syntax = "proto3";
package shop;
import "money.proto";
import "shop/types/people.proto";
import "google/protobuf/timestamp.proto";
message Refund { string reason = 1; }
message Payment { int64 id = 1; Money paid = 2; types.Person by = 3; google.protobuf.Timestamp at = 4; }
"""
MONEY = 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }'
PERSON = 'syntax = "proto3"; package shop.types; import "shop/types/names.proto"; message Person { Name name = 1; }'
NAME = 'syntax = "proto3"; package shop.types; message Name { string first = 1; }'
FILES = {
    "order.avsc": json.dumps(ORDER),
    "protos/shop/payment.proto": PAYMENT,
    "protos/shop/money.proto": MONEY,
    "protos/shop/types/people.proto": PERSON,
    "protos/shop/types/names.proto": NAME,
}
COLUMNS = {
    "orders": "id bigint, by string",
    "payments": "id bigint, paid struct<cents:bigint>, by struct<name:struct<first:string>>, at timestamp",
}


def document(**changes):
    form = {"system": "log", "bounded": True}
    streams = {
        "orders": {**form, "name": "orders", "format": "avro", "avro": {"schemaFile": "order.avsc"}},
        "payments": {
            **form,
            "format": "protobuf",
            "protobuf": {"schemaFile": "protos/shop/payment.proto", "message": "shop.Payment"},
        },
        "out": {"system": "files", "name": "out"},
        "paid": {"system": "files"},
    }
    made = apps.document(
        [
            {"name": "sent", "from": "orders", "sendTo": "out"},
            {"name": "sent-too", "from": "payments", "sendTo": "paid"},
        ],
    )
    made["spec"]["streams"] = {name: {**stream, **changes.get(name, {})} for name, stream in streams.items()}
    return made


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("orders", "payments"):
        log_messages.write(tmp_path, name, 1, [])
    (tmp_path / "app.yaml").write_text(json.dumps(document()))
    return tmp_path


def call(folder, command, *options, file="app.yaml"):
    return CliRunner().invoke(app, [command, str(folder / file), *options])


def problems(folder):
    found = json.loads(call(folder, "plan", "--output", "json").stdout)["problems"]
    return {(problem["path"], problem["code"]): problem["message"] for problem in found}


def columns(folder, file="app.yaml"):
    found = plan(read_app(folder / file), {"orders": 1, "payments": 1}).plan
    return {name: str(found.streams[name].schema) for name in COLUMNS}


def test_columns_are_those_of_the_files_with_what_they_import(folder):
    assert columns(folder) == COLUMNS


def test_a_run_reads_by_the_files(folder):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, ORDER, {"id": 7, "by": "ann"})
    log_messages.write(folder, "orders", 1, [LogRecord(out.getvalue())])
    result = call(folder, "run", "--host", "in-process")
    assert result.exit_code == 0, result.output
    assert [json.loads(part.read_text()) for part in apps.parts(folder / "out")] == [{"id": 7, "by": "ann"}]


def test_all_that_is_wrong_with_files_is_told_at_once(folder):
    (folder / "order.avsc").unlink()
    (folder / "protos/shop/types/names.proto").unlink()
    found = problems(folder)
    places = ("orders.avro", "payments.protobuf")
    assert set(found) == {(f"spec.streams.{place}.schemaFile", "InvalidSpec") for place in places}
    assert "`order.avsc`" in found["spec.streams.orders.avro.schemaFile", "InvalidSpec"]
    payments = found["spec.streams.payments.protobuf.schemaFile", "InvalidSpec"]
    assert payments.startswith("protos/shop/payment.proto: ")
    assert "shop/types/names.proto" in payments


def test_a_column_that_a_file_does_not_fit_is_refused_with_its_name(folder):
    (folder / "app.yaml").write_text(json.dumps(document(orders={"schema": "id int"})))
    (message,) = problems(folder).values()
    assert message.startswith("`order.avsc`: `id`: long is no int")


def test_a_resource_has_the_texts_of_the_files(folder, tmp_path_factory):
    result = call(folder, "bundle")
    assert result.exit_code == 0, result.output
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "bundled.json").write_text(result.stdout)
    assert columns(elsewhere, "bundled.json") == COLUMNS
    streams = json.loads(result.stdout)["spec"]["streams"]
    assert streams["orders"]["avro"]["schema"] == FILES["order.avsc"]
    assert set(streams["payments"]["protobuf"]["imports"]) == {
        "money.proto",
        "shop/types/people.proto",
        "shop/types/names.proto",
    }


def test_no_resource_is_made_without_a_file(folder):
    (folder / "order.avsc").write_bytes(b"\xff")
    result = call(folder, "bundle")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "spec.streams.orders.avro.schemaFile" in result.stderr


def test_a_schema_that_is_not_that_of_its_file_is_refused(folder):
    options = {"schemaFile": "order.avsc", "schema": '"long"'}
    (folder / "app.yaml").write_text(json.dumps(document(orders={"avro": options})))
    result = call(folder, "plan")
    assert result.exit_code == 2
    assert "spec.streams.orders.avro.schema is not the text of its schemaFile, order.avsc" in result.output
