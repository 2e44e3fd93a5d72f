"""Several operators that write to the same files: their rows must be alike."""

import pytest

from support.plan_documents import accepted, document, planned

COUNTED = {"name": "counted", "from": "rows", "aggregate": {"by": ["k"], "select": "count(*) as n"}}
FEW = {"name": "few", "from": "counted", "filter": "n < 2"}
ALIKE = {"name": "other", "from": "rows", "map": "k, n"}


def app(first, second, *operators, system="files", **output):
    senders = [{"name": f"sent-{name}", "from": name, "sendTo": "out"} for name in (first, second)]
    return document(
        [COUNTED, *operators, *senders],
        streams={"rows": "k bigint, n bigint", "out": {"system": system, "format": "json", **output}},
        systems={"log": {"log": {"path": "log"}}, "files": {"file": {"path": "."}}},
    )


@pytest.mark.parametrize(
    ("first", "second", "operators", "reason"),
    [
        ("counted", "other", [{**ALIKE, "map": "k"}], "different columns: (k bigint, n bigint) and (k bigint)"),
        ("counted", "other", [{**ALIKE, "map": "n, k"}], "different columns"),
        ("counted", "other", [{**ALIKE, "map": "k, cast(n as int) as n"}], "n bigint) and (k bigint, n int)"),
        ("few", "other", [FEW, ALIKE], "rows of `few` may delete their keys"),
        ("other", "few", [FEW, ALIKE], "those of `other` don't"),
    ],
)
def test_rows_that_differ_are_refused(first, second, operators, reason):
    (problem,) = planned(app(first, second, *operators)).problems
    assert (problem.path, problem.code) == ("spec.streams.out", "NotSupported")
    assert reason in problem.message
    assert "streams of their own" in problem.message


@pytest.mark.parametrize(
    ("second", "operators", "output"),
    [
        ("other", [ALIKE], {}),
        ("few", [FEW], {"changes": "log"}),
        ("other", [{**ALIKE, "map": "k, n as m"}], {"system": "log", "partitions": 1}),
    ],
)
def test_rows_that_are_alike_and_messages_are_accepted(second, operators, output):
    accepted(app("counted", second, *operators, **output))
