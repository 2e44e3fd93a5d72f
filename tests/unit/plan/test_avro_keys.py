"""Keys that are records of Avro: what has to be said of them, and that their rows meet others behind a partitionBy."""

import pytest

from support.plan_documents import accepted, check_refused, document, found, planned, repaired

KAFKA = {"kafka": {"bootstrapServers": "k:1", "schemaRegistry": {"url": "http://r:1"}}}
SYSTEMS = {"log": {"log": {"path": "l.db"}}, "hub": KAFKA, "plain": {"kafka": {"bootstrapServers": "k:1"}}}
COUNTS = {"in": 2, "other": 2, "out": 2}
KEYED = {"system": "hub", "key": "k", "keyFormat": "avro"}


def app(source=None, output=None, *, select="k, n", system="hub"):
    streams = {
        "in": {"system": system, "schema": "k string, n bigint", **(source or {})},
        "out": {"system": system, **(output or {})},
    }
    operators = [{"name": "some", "from": "in", "map": select}, {"name": "sent", "from": "some", "sendTo": "out"}]
    return document(operators, streams=streams, systems=SYSTEMS, defaultSystem=system)


@pytest.mark.parametrize("form", ["json", "avro", "csv"])
@pytest.mark.parametrize("key", ["k", ["k", "n"]])
def test_keys_of_avro_go_with_every_format_of_values(form, key):
    keyed = {**KEYED, "format": form, "key": key}
    plan = accepted(app(keyed, {**keyed, "changes": "append"}), COUNTS)
    assert {name: str(stream.key_format) for name, stream in plan.streams.items()} == {"in": "avro", "out": "avro"}


@pytest.mark.parametrize(
    "refused, path, reason",
    [
        ({"source": {"keyFormat": "avro"}}, "in", "name them in its `key`"),
        ({"output": {"keyFormat": "avro"}}, "out", "name them in its `key`"),
        ({"source": KEYED | {"system": "plain"}, "system": "plain"}, "in", "spec.systems.plain.kafka.schemaRegistry"),
        ({"output": KEYED | {"system": "log"}, "system": "log"}, "out", "only systems of Kafka have one"),
        ({"source": KEYED | {"schema": "k smallint, n int"}}, "in", "`k` can't be part of a key of Avro"),
        ({"output": KEYED | {"key": "a-b"}, "select": "k as `a-b`"}, "out", "`a-b` can't be part of a key of Avro"),
    ],
)
def test_what_keys_of_avro_need_is_said(refused, path, reason):
    check_refused(app(**refused), "NotSupported", f"spec.streams.{path}.keyFormat", COUNTS)
    assert reason in " ".join(problem.message for problem in planned(app(**refused), COUNTS).problems)


def test_what_is_sent_with_keys_of_avro_has_one_schema():
    two = app(output=KEYED)
    two["spec"]["operators"] += [
        {"name": "less", "from": "in", "map": "k"},
        {"name": "sent-too", "from": "less", "sendTo": "out"},
    ]
    assert found(two, COUNTS) == {("NotSupported", "spec.streams.out")}


def keyed(operator):
    """An operator over streams with keys of Avro."""
    streams = {name: {**KEYED, "schema": f"k string, {value} bigint"} for name, value in (("in", "n"), ("other", "m"))}
    streams["in"]["changes"] = "upsert" if "aggregate" in operator else "append"
    used = {name: stream for name, stream in streams.items() if name == "in" or "join" in operator}
    operators = [{"name": "a", "from": "in", **operator}, {"name": "sent", "from": "a", "sendTo": "out"}]
    return document(
        operators, streams={**used, "out": {"system": "hub", "key": "k"}}, systems=SYSTEMS, defaultSystem="hub"
    )


def test_rows_of_a_key_are_together():
    accepted(keyed({"aggregate": {"by": ["k"], "select": "count(*) as c"}}), COUNTS)


def test_rows_of_two_streams_meet_behind_a_partition_by():
    joined = keyed({"join": {"with": "other", "on": "k", "within": "1m"}})
    (problem,) = planned(joined, COUNTS).problems
    assert (problem.code, "records of Avro" in problem.message) == ("JoinKeyMismatch", True)
    accepted(repaired(joined, problem.repair), COUNTS)
