"""Streams whose rows are not where their declared key says: the app stops, or goes on and reports them."""

import json
import struct
from contextlib import closing

import pytest

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import ClaimBroken, PlanRefused
from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner
from support import apps
from support.hashed_keys import partition_of

IN = StreamDescriptor(name="in", system="log", address="in", format=StreamFormat.JSON)
KEYS = range(20)
COUNTED = [
    {"name": "counted", "from": "in", "aggregate": {"by": ["k"], "select": "count(*) as n"}},
    {"name": "sent", "from": "counted", "sendTo": "out"},
]


def app(operators=COUNTED, job=None, **stream):
    """Count the rows of each key of a stream of the log."""
    source = {"system": "log", "format": "json", "name": "in", "schema": "k int, n int", "key": "k", "bounded": True}
    return apps.document(operators, job=job, **{"in": {**source, **stream}}, out={})


def write(folder, place, *, epoch=1, keys=KEYS):
    """Write a row of each key, to the partition that a function returns."""
    with closing(LogProducer(folder / "log.db", [IN], TransactionOwner(id="shop", epoch=epoch))) as producer:
        for key in keys:
            value = json.dumps({"k": key, "n": epoch}).encode()
            producer.send(Ssp("log", "in", place(key)), value, key=str(key).encode(), timestamp=0)
        producer.commit()


def hashed(count):
    return lambda key: partition_of(None if key is None else str(key), count)


@pytest.fixture
def log(tmp_path):
    with closing(LogAdmin(tmp_path / "log.db")) as admin:
        admin.create({IN: 4})
        yield admin


def counts(folder):
    return {key: int(n) for (key,), (_, n) in apps.last_per_key(folder / "out" / "out", 1).items()}


def test_rows_in_wrong_partitions_stop_the_app_which_says_where_they_belong_and_what_to_do(log, tmp_path):
    write(tmp_path, lambda key: (hashed(4)(key) + 1) % 4, keys=[5])
    there, belongs = (hashed(4)(5) + 1) % 4, hashed(4)(5)
    with pytest.raises(ClaimBroken) as stopped:
        apps.run(app(), tmp_path)
    message = str(stopped.value)
    place = f"log.in[{there}], offset 0: the row with key k = 5 is in partition {there}, but belongs in {belongs} "
    assert place in message
    for advice in ("spec.streams.in.key", "partitionBy", "partitioner: murmur2_random", "CRC32", "onBrokenClaim"):
        assert advice in message


def test_a_report_goes_on_and_counts(log, tmp_path):
    write(tmp_path, lambda key: (hashed(4)(key) + 1) % 4)
    summary = apps.run(app(job={"onBrokenClaim": "report"}), tmp_path)
    assert len(counts(tmp_path)) == len(KEYS)
    claim = summary.broken_claims["in"]
    assert (claim.checked, claim.misplaced) == (len(KEYS), len(KEYS))
    assert "belongs in" in claim.example


def test_a_regrouping_makes_any_placement_right(log, tmp_path):
    write(tmp_path, lambda key: (hashed(4)(key) + 1) % 4)
    by_key = {"name": "by-k", "from": "in", "partitionBy": {"key": "k"}}
    summary = apps.run(app([by_key, {**COUNTED[0], "from": "by-k"}, COUNTED[1]]), tmp_path)
    assert counts(tmp_path) == {str(key): 1 for key in KEYS}
    assert summary.broken_claims == {}


def test_rows_of_both_counts_are_right_after_a_growth(log, tmp_path):
    write(tmp_path, hashed(4))
    apps.run_until(tmp_path, app(bounded=False), lambda: len(counts(tmp_path)) == len(KEYS))
    log.expand(IN, 8)
    write(tmp_path, hashed(4), epoch=2)
    write(tmp_path, hashed(8), epoch=3)
    apps.run_until(tmp_path, app(bounded=False), lambda: counts(tmp_path) == {str(key): 3 for key in KEYS})


@pytest.mark.parametrize(("form", "layout", "kind"), [("int", ">i", "int"), ("long", ">q", "bigint")])
def test_binary_keys_are_hashed_as_java_does(log, tmp_path, form, layout, kind):
    write(tmp_path, lambda key: partition_of(struct.pack(layout, key), 4))
    apps.run(app(schema=f"k {kind}, n int", keyFormat=form), tmp_path)
    assert counts(tmp_path) == {str(key): 1 for key in KEYS}
    with pytest.raises(ClaimBroken, match="belongs in"):
        apps.run(app(schema=f"k {kind}, n int"), tmp_path, run_id="r2")


def test_rows_without_a_key_must_be_together_only_where_they_are_grouped(log, tmp_path):
    write(tmp_path, lambda key: 1, keys=[None])
    kept = {"name": "kept", "from": "in", "filter": "k is not null"}
    apps.run(app([kept, {**COUNTED[0], "from": "kept"}, COUNTED[1]]), tmp_path)
    with pytest.raises(ClaimBroken, match="key k = None is in partition 1, but belongs in 0"):
        apps.run(app(), tmp_path, run_id="r2")


def files(folder, *contents):
    apps.write_stream(folder, "in", "k,n", *contents)
    return app(system="files", format="csv", partitioned=True)


def test_files_that_share_no_key_may_be_grouped(tmp_path):
    apps.run(files(tmp_path, ["1,1", "2,1", "1,1"], ["3,1"]), tmp_path)
    assert counts(tmp_path) == {"1": 2, "2": 1, "3": 1}


def test_a_key_in_two_files_breaks_the_claim(tmp_path):
    message = (
        r"files\.in\[1\], offset 1: the row with key k = 2 is in file 1, but rows of that key are in file 0, too\."
    )
    with pytest.raises(ClaimBroken, match=message + r".*`spec\.streams\.in\.partitioned`"):
        apps.run(files(tmp_path, ["1,1", "2,1"], ["3,1", "2,1"]), tmp_path)


SPLIT = (["1,1", "2,1", "1,1"], ["3,1", "2,1"])
"""Rows of two files, of which each processor reads one."""


def test_a_key_in_files_of_two_processors_breaks_the_claim_for_good(tmp_path):
    document = files(tmp_path, *SPLIT)
    document["spec"]["processors"]["count"] = 2
    message = (
        r"files\.in: rows with key k = 2 are in file [01], and in file [01], too\. `spec\.streams\.in\.partitioned`"
    )
    for _ in range(2):
        with pytest.raises(ClaimBroken, match=message):
            apps.run(document, tmp_path, fresh=False)
    document["spec"]["job"]["onBrokenClaim"] = "report"
    summary = apps.run(document, tmp_path, run_id="r2")
    assert (summary.broken_claims["in"].checked, summary.broken_claims["in"].misplaced) == (3, 1)


def test_files_of_two_processors_that_share_no_key_may_be_grouped(tmp_path):
    document = files(tmp_path, ["1,1", "2,1", ",1"], ["3,1"])
    document["spec"]["processors"]["count"] = 2
    apps.run(document, tmp_path)
    assert counts(tmp_path) == {"1": 1, "2": 1, "3": 1, "": 1}


def test_files_with_an_order_of_their_own_are_not_joined(tmp_path):
    document = files(tmp_path, ["1,1"], ["2,1"])
    names = {"system": "files", "name": "names", "schema": "k int, name string", "key": "k", "partitioned": True}
    document["spec"]["streams"]["names"] = {**names, "format": "csv", "csv": {}}
    document["spec"]["tables"] = {"name": {"key": "k", "sideInputs": ["names"], "bootstrap": True}}
    document["spec"]["operators"] = [
        {"name": "named", "from": "in", "joinTable": {"table": "name", "on": "k"}},
        {"name": "sent", "from": "named", "sendTo": "out"},
    ]
    apps.write_stream(tmp_path, "names", "k,name", ["2,two"], ["1,one"])
    with pytest.raises(PlanRefused, match="in files of an order of their own"):
        apps.run(document, tmp_path)


FILTERED = [{"name": "kept", "from": "in", "filter": "n > 0"}, {**COUNTED[0], "from": "kept"}, COUNTED[1]]
NULLS = [None, None]


@pytest.mark.parametrize("operators", [COUNTED, FILTERED])
def test_rows_without_a_key_that_reach_a_group_in_several_tasks_stop_the_app(log, tmp_path, operators):
    write(tmp_path, lambda key: 0, keys=NULLS)
    write(tmp_path, lambda key: 3, epoch=2, keys=NULLS)
    with pytest.raises(ClaimBroken):
        apps.run(app(operators), tmp_path)


def test_rows_without_a_key_behind_a_filter_are_named_with_what_to_do(log, tmp_path):
    write(tmp_path, lambda key: 3, keys=NULLS)
    with pytest.raises(ClaimBroken) as stopped:
        apps.run(app(FILTERED), tmp_path)
    message = str(stopped.value)
    assert "2 rows without `k` reached `counted` in task `Partition 3`" in message
    assert "filter: k is not null" in message
    assert "a `partitionBy` with the key `k` before `counted`" in message
    summary = apps.run(app(FILTERED, {"onBrokenClaim": "report"}), tmp_path, run_id="r2")
    assert summary.broken_claims["in"].misplaced == 2
    assert summary.broken_claims["in"].example.startswith("2 rows without `k` reached `counted`")


@pytest.mark.parametrize(
    "repaired",
    [
        [{"name": "kept", "from": "in", "filter": "k is not null"}, {**COUNTED[0], "from": "kept"}, COUNTED[1]],
        [
            {"name": "kept", "from": "in", "filter": "n > 0"},
            {"name": "by", "from": "kept", "partitionBy": {"key": "k"}},
            {**COUNTED[0], "from": "by"},
            COUNTED[1],
        ],
    ],
)
def test_rows_without_a_key_that_are_left_out_or_regrouped_are_right(log, tmp_path, repaired):
    write(tmp_path, lambda key: 0, keys=NULLS)
    write(tmp_path, lambda key: 3, epoch=2, keys=[*NULLS, None])
    apps.run(app(repaired), tmp_path)
    assert counts_of_nulls(tmp_path) == ([] if len(repaired) == 3 else [5])


def test_rows_without_a_key_are_one_group_where_all_are_in_partition_0(log, tmp_path):
    write(tmp_path, lambda key: 0, keys=NULLS)
    apps.run(app(FILTERED), tmp_path)
    assert counts_of_nulls(tmp_path) == [2]


def counts_of_nulls(folder):
    return [int(n) for (key,), (_, n) in apps.last_per_key(folder / "out" / "out", 1).items() if key == ""]
