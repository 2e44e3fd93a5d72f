"""Streams that jobs of Spark read: what the planner refuses, and how it is mended."""

import pytest

from support.plan_documents import accepted, check_refused, document

SOURCE = {"format": "jdbc", "path": "staged"}
COLUMNS = "k bigint, v string, at timestamp, d decimal(38,0)"


def app(incremental=None, columns=COLUMNS, source=None, **rows):
    spark = {**SOURCE, **({"incremental": incremental} if incremental else {}), **(source or {})}
    streams = {"rows": {"system": "shop", "schema": columns, **rows}, "out": {}}
    return document(
        [{"name": "sent", "from": "rows", "sendTo": "out"}],
        streams=streams,
        systems={"log": {"log": {"path": "log"}}, "shop": {"spark": spark}},
    )


@pytest.mark.parametrize(
    "accepted_app",
    [
        app(),
        app(key="k", partitions=3),
        app({"column": "k"}),
        app({"column": "d", "every": "10s"}),
        app({"column": "at"}, name="public.rows"),
        app({"column": "at", "delay": "0s"}),
        app(source={"path": "s3://bucket/staged", "journal": "journal"}, name="s3a://other/rows"),
    ],
)
def test_what_spark_reads_is_a_stream_with_partitions_of_its_own(accepted_app):
    plan = accepted(accepted_app)
    partitions = accepted_app["spec"]["streams"]["rows"].get("partitions", 1)
    assert plan.streams["rows"].partitions == partitions


@pytest.mark.parametrize(
    ("refused", "path", "code"),
    [
        (app(format="csv"), "streams.rows.format", "NotSupported"),
        (app(folderColumns=["v"]), "streams.rows.folderColumns", "NotSupported"),
        (app(startFrom="latest"), "streams.rows.startFrom", "NotSupported"),
        (app(bounded=True), "streams.rows.bounded", "NotSupported"),
        (app(startingVersion=1), "streams.rows.startingVersion", "NotSupported"),
        (app(changes="upsert", key="k"), "streams.rows.changes", "NotSupported"),
        (app({"column": "n"}), "systems.shop.spark.incremental.column", "NotSupported"),
        (app({"column": "K"}), "systems.shop.spark.incremental.column", "NotSupported"),
        (app({"column": "v"}), "systems.shop.spark.incremental.column", "NotSupported"),
        (app({"column": "k", "delay": "1m"}), "systems.shop.spark.incremental.delay", "NotSupported"),
        (app({"column": "k", "every": "1s"}), "systems.shop.spark.incremental.every", "InvalidSpec"),
        (app(source={"options": {"Password": "x"}}), "systems.shop.spark.options.Password", "InvalidSpec"),
        (app(source={"path": "s3://bucket/staged"}), "systems.shop.spark.journal", "NotSupported"),
        (app(source={"store": {}}), "systems.shop.spark.store", "NotSupported"),
    ],
)
def test_what_is_not_read_so_is_refused(refused, path, code):
    check_refused(refused, code, f"spec.{path}")
