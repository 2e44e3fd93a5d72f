"""Warnings about texts that are compared with numbers or times, which lets no row pass where they are none."""

import pytest

from support.plan_documents import accepted, document

SCHEMA = "k string, item string, n int, d double, at timestamp, day date"
SENT = {"name": "sent", "from": "o", "sendTo": "out"}


def warnings(operator, **streams):
    """Plan an app with one operator, and give its warnings about texts."""
    app = document(
        [{"name": "o", "from": "in", **operator}, SENT],
        streams={"in": {"schema": SCHEMA, "key": "k", "bounded": True}, "out": {}, **streams},
    )
    return [warning for warning in accepted(app).warnings if warning.code == "ComparedAsNull"]


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("item > 5", "`item`, a text, is compared with a number: it is read as int without what is behind the point"),
        ("d <= item", "it is read as double, and where it is none"),
        ("not (k = 'a' and item = 5)", "`item`, a text,"),
        ("item between 1 and n", "`item`, a text,"),
        ("trim(item) <> n", "a text is compared with a number"),
        ("case item when 5 then true else false end", "`item`, a text,"),
        ("n = 'five'", "'five' is no number: it is compared as null, which is not true of anything"),
        ("n <=> ''", "'' is no number"),
        ("at > '31.01.2026'", "'31.01.2026' is no timestamp"),
        ("item = null", "a comparison with null is always null"),
        ("case k when null then true else false end", "a comparison with null is always null"),
        ("not k in ('a', null)", "no row passes a `not in` of such a list"),
        ("day = '1 May'", "'1 May' is no date"),
    ],
)
def test_a_text_that_may_be_no_number_or_time_is_warned_of_at_its_place(condition, told):
    (warning,) = warnings({"filter": condition})
    assert warning.path == "spec.operators[0].filter"
    assert told in warning.message
    assert warning.repair


@pytest.mark.parametrize(
    "condition",
    [
        "item > '5'",
        "cast(item as int) > 5",
        "n > '5' and d < ' -1.5e3 ' and d <> 'NaN'",
        "at > '2026-01-31' and at < '2026-01-31T12:00:00Z' and day >= '2026-01'",
        "item in ('1', '2')",
        "n > 5 and item is null",
        "item <=> null",
    ],
)
def test_what_is_a_number_or_a_time_is_not_warned_of(condition):
    assert warnings({"filter": condition}) == []


@pytest.mark.parametrize(
    ("operator", "path"),
    [
        ({"map": "item = 5 as five"}, "spec.operators[0].map"),
        ({"aggregate": {"by": ["k"], "select": "count(*) filter (where item > 5) as n"}}, ".aggregate.select"),
        ({"sql": "select k from in where item > 5"}, "spec.operators[0].sql"),
        (
            {"join": {"with": "other", "on": "k", "within": "1h", "condition": "item > 5"}},
            "spec.operators[0].join.condition",
        ),
    ],
)
def test_all_texts_of_expressions_are_looked_at(operator, path):
    if "sql" in operator:
        operator = {**operator, "from": None}
    other = {"schema": "k string, x int", "key": "k", "bounded": True}
    (warning,) = warnings(operator, **({"other": other} if "join" in operator else {}))
    assert warning.path.endswith(path)
