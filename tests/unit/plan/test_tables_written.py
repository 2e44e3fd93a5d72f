"""Outputs that are tables of Delta: what a table can't be partitioned by."""

import pytest

from support.plan_documents import document, planned


def app(kind):
    return document(
        [{"name": "sent", "from": "rows", "sendTo": "out"}],
        streams={"rows": f"k bigint, part {kind}", "out": {"system": "lake", "folderColumns": ["part"]}},
        systems={"log": {"log": {"path": "log"}}, "lake": {"delta": {"path": "."}}},
    )


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("timestamp", "finer than dates: `cast(part as date)`"),
        ("timestamp_ntz", "finer than dates: `cast(part as date)`"),
        ("decimal(9,2)", "no decimals, of which compaction by `deltalake` would break the negative ones: `cast("),
    ],
)
def test_what_no_table_is_partitioned_by_is_refused(kind, reason):
    (problem,) = planned(app(kind)).problems
    assert (problem.path, problem.code) == ("spec.streams.out.folderColumns[0]", "NotSupported")
    assert reason in problem.message


@pytest.mark.parametrize("kind", ["string", "boolean", "bigint", "date"])
def test_other_columns_are_partitions(kind):
    assert planned(app(kind)).problems == ()
