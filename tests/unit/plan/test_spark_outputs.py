"""Streams that jobs of Spark write: what the planner refuses, and how it is mended."""

import pytest

from support.plan_documents import accepted, check_refused, document

JDBC = {"url": "jdbc:postgresql://localhost/shop", "driver": "org.postgresql.Driver"}


def app(form="jdbc", *, options=None, columns="k bigint, v string", job=None, more=None, spark=None, **out):
    given = JDBC if options is None and form == "jdbc" else options or {}
    made = {"format": form, "path": "staged", "options": given, **(spark or {})}
    made_document = document(
        [{"name": "sent", "from": "rows", "sendTo": "out"}, *(more or ())],
        streams={"rows": {"schema": columns}, "out": {"system": "shop", **out}, "other": {"system": "shop"}},
        systems={"log": {"log": {"path": "log"}}, "shop": {"spark": made}},
    )
    if not more:
        del made_document["spec"]["streams"]["other"]
    if job:
        made_document["spec"]["job"] = job
    return made_document


AT_LEAST_ONCE = {"delivery": "atLeastOnce"}
TWICE = [{"name": "again", "from": "rows", "sendTo": "other"}]


@pytest.mark.parametrize(
    "accepted_app",
    [
        app(),
        app(name="public.sold", spark={"commitEvery": "10s", "secretName": "shop"}),
        app("delta", name="lake/sold"),
        app("delta", columns="k array<int>"),
        app("orc", spark=AT_LEAST_ONCE),
        app("orc", job=AT_LEAST_ONCE),
        app("org.example.Source", options={"path_style": "x"}, spark={"write": "sales.writer:write"}),
        app(spark={"path": "s3://bucket/staged"}),
        app(more=TWICE),
    ],
)
def test_what_spark_writes_is_an_output(accepted_app):
    assert accepted(accepted_app).streams["out"].address == accepted_app["spec"]["streams"]["out"].get("name", "out")


@pytest.mark.parametrize(
    ("refused", "path", "code"),
    [
        (app("orc"), "systems.shop.spark.delivery", "DeliveryUnsupported"),
        (app(options={"url": "jdbc:h2:mem"}), "systems.shop.spark.options", "NotSupported"),
        (app(options={**JDBC, "dbtable": "x"}), "systems.shop.spark.options.dbtable", "NotSupported"),
        (app(options={**JDBC, "query": "select 1"}), "systems.shop.spark.options.query", "NotSupported"),
        (app("delta", options={"txnAppId": "x"}), "systems.shop.spark.options.txnAppId", "NotSupported"),
        (app(name="sold; drop table x"), "streams.out.name", "NotSupported"),
        (app(columns="k array<int>"), "streams.out", "NotSupported"),
        (app("delta", columns="k variant"), "streams.out", "NotSupported"),
        (app(format="csv"), "streams.out.format", "NotSupported"),
        (app(folderColumns=["k"]), "streams.out.folderColumns", "NotSupported"),
        (app(partitions=2), "streams.out.partitions", "NotSupported"),
        (app(more=TWICE, name="other"), "streams.out.name", "NotSupported"),
        (app(spark={"commitEvery": "1s"}), "systems.shop.spark.commitEvery", "InvalidSpec"),
        (app(spark={"write": "no function"}), "systems.shop.spark.write", "InvalidSpec"),
    ],
)
def test_what_is_not_written_so_is_refused(refused, path, code):
    check_refused(refused, code, f"spec.{path}")
