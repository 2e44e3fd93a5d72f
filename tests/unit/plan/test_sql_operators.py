"""Operators in SQL: the steps that they become, and what is refused, at its place in the text."""

import re

import pytest

from streamapp_core.edits import EditClass, classify_edits
from streamapp_core.plan.render import to_step_rows
from streamapp_core.spec.operators import OperatorSpec
from streamapp_core.spec.parse import parse_document
from support.plan_documents import accepted, document, planned
from unit.docs import pages

BIDS = "item string, bidder string, price int, at timestamp, tags array<string>, more struct<a:int,`b c`:string>"
STREAMS = {
    "bids": {"schema": BIDS, "eventTime": {"column": "at"}},
    "items": {"schema": "id string, kind string, at timestamp", "eventTime": {"column": "at"}},
    "late-bids": {"schema": f"{BIDS}, made struct<at:timestamp>", "eventTime": {"column": "made.at", "orElse": ["at"]}},
    "rates": {"schema": "name string, rate double, kind string", "key": "name", "broadcast": True},
}
TABLES = {
    "by-name": {"key": "name", "sideInputs": ["rates"]},
    "by-both": {"key": ["name", "kind"], "sideInputs": ["rates"]},
    "by-upper": {"key": "upper(name)", "sideInputs": ["rates"]},
}


def app(*queries, **spec):
    """An app whose operators are queries, `q-0` and so on; whatever is not read is left out."""
    read = set(re.findall(r"(?:from|join|,)\s+`?([a-z-]+)", " ".join(queries)))
    streams = {name: stream | {"system": "log"} for name, stream in STREAMS.items() if name in read}
    tables = {name: table for name, table in TABLES.items() if name in read}
    if tables:
        streams["rates"] = STREAMS["rates"] | {"system": "log"}
    operators = [{"name": f"q-{number}", "sql": query} for number, query in enumerate(queries)]
    operators += [{"name": f"s-{number}", "from": f"q-{number}", "sendTo": "out"} for number, _ in enumerate(queries)]
    systems = {"log": {"log": {"path": "log"}}, "files": {"file": {"path": "."}}}
    return document(operators, streams=streams | {"out": {"system": "files"}}, tables=tables, systems=systems, **spec)


def steps(query):
    """Return the steps of a query: name, kind, what it reads, and what it does."""
    return [tuple(row) for row in to_step_rows(accepted(app(query)))]


def refused(query):
    """Return the messages of what is refused of a query, each at the path of its text."""
    problems = planned(app(query)).problems
    assert {problem.path for problem in problems} == {"spec.operators[0].sql"}, problems
    return [f"{problem.code}: {problem.message}" for problem in problems]


def test_a_selection_is_a_filter_and_a_map():
    assert steps(
        "select b.item, price * 2 as twice, more.`b c` from bids as b where b.price > 1 and item is not null"
    ) == [
        ("q-0.where", "filter", "bids", "(price > 1) and (item is not null)"),
        ("q-0", "map", "q-0.where", "item, price * 2 as twice, more.`b c` as `b c`"),
    ]


def test_variables_of_lambdas_and_fields_are_no_unknown_columns():
    (made,) = refused("select transform(tags, t -> upper(t)) as tags, more.a, itm from bids")
    assert "`itm`: unknown column" in made


def test_a_star_leaves_columns_out_and_a_generator_is_a_flat_map():
    (step,) = steps("select * except (tags, more, at) from bids")
    assert step[3] == "item, bidder, price"
    (step,) = steps("select item, explode(tags) as tag from bids")
    assert step == ("q-0", "flatMap", "bids", "item, explode(tags) as tag")


def test_a_group_is_computed_partitioned_aggregated_and_filtered():
    query = "select upper(item) as name, max(price) - 1 as most from bids group by name having count(*) > 2"
    assert steps(query.replace("from", ", upper(item) as again from")) == [
        ("q-0.columns", "map", "bids", "upper(item) as name, price"),
        ("q-0.by-name", "partitionBy", "q-0.columns", "key: name"),
        ("q-0.groups", "aggregate", "q-0.by-name", "by: name; select: max(price) - 1 as most, count(*) > 2 as passes"),
        ("q-0.having", "filter", "q-0.groups", "passes"),
        ("q-0", "map", "q-0.having", "name, most, name as again"),
    ]


@pytest.mark.parametrize(
    ("window", "fields"),
    [
        ("window(at, '10 seconds')", "tumbling: 10s"),
        ("window(at, '1 hour 30 minutes')", "tumbling: 90m"),
        ("window(at, '10 seconds', '10 seconds')", "tumbling: 10s"),
        ("window(at, '10 seconds', '5 seconds')", "sliding: 10s; every: 5s"),
        ("window(at, interval '1' day)", "tumbling: 1d"),
    ],
)
def test_a_window_of_event_time_is_a_window(window, fields):
    query = f"select item, window.start, window.end as until, count(*) as n from bids group by item, {window}"
    assert steps(query)[-2:] == [
        ("q-0.windows", "window", "q-0.by-item", f"{fields}; by: item; select: count(*) as n"),
        ("q-0", "map", "q-0.windows", "item, window_start as start, window_end as until, n"),
    ]


def test_having_knows_the_names_of_the_select_list():
    made = steps("select item, count(*) as n from bids group by item having n > 1 and item > 'a'")
    assert made[2][3] == "by: item; select: count(*) as n, (count(*)) > 1 and item > 'a' as passes"


def test_steps_of_long_names_have_names_of_their_own():
    inner = "select item, row_number() over (partition by item order by at) as place from bids"
    made = steps(f"select item from ({inner}) as {'a' * 90} where place = 1")
    names = [name for name, *_ in made]
    assert len({*names}) == len(names)
    assert max(map(len, names)) == 63


def test_a_window_without_other_groups_is_of_all_rows():
    made = steps(
        "select session_window.start as since, count(*) as n from bids group by session_window(at, '1 minute')"
    )
    assert [step[3] for step in made[:2]] == ["1 as one", "key: one"]
    assert made[2][3] == "session: 1m; by: one; select: count(*) as n"


def test_the_event_time_has_a_row_only_where_no_earlier_column_has_it():
    query = "select item, count(*) as n from `late-bids` where made is null group by item, window(at, '1 minute')"
    assert ("q-0.timed", "filter", "q-0.where", "at is not null") in steps(query)
    assert "add `made is null`" in refused(query.replace("made is null", "item > 'a'"))[0]


def test_a_join_partitions_both_sides_and_filters_behind():
    query = (
        "select b.item, i.id, i.at as offered from bids as b, items as i "
        "where i.kind = 'x' and b.item = i.id and b.price > length(i.kind)"
    )
    assert sorted(steps(query)) == sorted(
        [
            ("q-0.i-where", "filter", "items", "kind = 'x'"),
            ("q-0.i-left", "map", "bids", "item, price"),
            ("q-0.i-right", "map", "q-0.i-where", "id, at, kind"),
            ("q-0.i-left-by-item", "partitionBy", "q-0.i-left", "key: item"),
            ("q-0.i-right-by-id", "partitionBy", "q-0.i-right", "key: id"),
            (
                "q-0.i-join",
                "join",
                "q-0.i-left-by-item, q-0.i-right-by-id",
                "with: q-0.i-right-by-id; on: left: item; right: id",
            ),
            ("q-0.where", "filter", "q-0.i-join", "price > length(kind)"),
            ("q-0", "map", "q-0.where", "item, item as id, at as offered"),
        ]
    )


def test_several_equalities_are_one_key_whose_columns_have_the_same_names_on_both_sides():
    made = steps(
        "select b.item, i.kind, i.id, b.at from bids as b join items as i "
        "on b.item = i.id and b.at = i.at and b.bidder = i.kind and b.price = length(i.kind)"
    )
    assert sorted(made) == sorted(
        [
            ("q-0.i-left", "map", "bids", "item, at, bidder, price"),
            ("q-0.i-right", "map", "items", "kind as bidder, id as item, at"),
            ("q-0.i-left-by-item-at-bidder", "partitionBy", "q-0.i-left", "key: item, at, bidder"),
            ("q-0.i-right-by-item-at-bidder", "partitionBy", "q-0.i-right", "key: item, at, bidder"),
            (
                "q-0.i-join",
                "join",
                "q-0.i-left-by-item-at-bidder, q-0.i-right-by-item-at-bidder",
                "with: q-0.i-right-by-item-at-bidder; on: item, at, bidder",
            ),
            ("q-0.where", "filter", "q-0.i-join", "price = length(bidder)"),
            ("q-0", "map", "q-0.where", "item, bidder as kind, item as id, at"),
        ]
    )


@pytest.mark.parametrize(
    ("conditions", "on", "behind"),
    [
        ("b.item = i.id and b.bidder = i.id", "left: item; right: id", "bidder = item"),
        ("b.item = i.id and b.item = i.kind", "left: item; right: id", "item = kind"),
        ("b.item = i.id and b.more = named_struct('a', length(i.kind), 'b c', i.kind)", "left: item; right: id", None),
        ("lower(b.item) = upper(i.id) and b.bidder = i.kind", "key, bidder", None),
    ],
)
def test_equalities_that_are_no_other_columns_stay_behind_the_join(conditions, on, behind):
    made = steps(f"select b.item, i.id, b.bidder, i.kind from bids as b join items as i on {conditions}")
    (join,) = [does for _, kind, _, does in made if kind == "join"]
    assert join.partition("on: ")[2] == on
    filters = [does for _, kind, _, does in made if kind == "filter"]
    assert behind is None or filters == [behind]


@pytest.mark.parametrize(
    ("bound", "within"),
    [
        ("b.at between i.at - interval '5' minutes and i.at + interval '1 minute'", "before: 1m; after: 5m"),
        ("b.at >= i.at and b.at < i.at + interval '90 seconds'", "before: 90s"),
        ("i.at - interval '2' hour < b.at and i.at + interval '1' hour >= b.at", "before: 1h; after: 2h"),
        ("b.at >= i.at", None),
    ],
)
def test_bounds_on_event_times_are_those_of_a_join(bound, within):
    made = steps(f"select b.item from bids as b join items as i on b.item = i.id where {bound}")
    (join,) = [does for _, kind, _, does in made if kind == "join"]
    assert (f"within: {within}" in join) if within else ("within" not in join)
    assert made[-2][1] == "filter"


@pytest.mark.parametrize(
    ("bound", "zone", "within"),
    [
        ("b.at between i.at and i.at + interval '1 day'", "America/New_York", "before: 0d; after: 2d"),
        ("b.at >= i.at - interval '1  week' and b.at < i.at", "America/New_York", "before: 8d; after: 0d"),
        ("i.at between b.at - interval '1 day' and b.at", "America/New_York", "before: 0d; after: 2d"),
        ("b.at between i.at and i.at + interval '24 hours'", "America/New_York", "before: 0d; after: 2d"),
        ("b.at between i.at and i.at + interval '23 hours'", "America/New_York", "before: 0d; after: 23h"),
        ("b.at between i.at and i.at + interval '1 day'", "+05:30", "before: 0d; after: 1d"),
    ],
)
def test_bounds_in_days_have_room_for_clocks_that_are_turned(bound, zone, within):
    query = f"select b.item from items as i join bids as b on b.item = i.id where {bound}"
    made = to_step_rows(accepted(app(query, job={"timeZone": zone})))
    (join,) = [does for _, kind, _, does in made if kind == "join"]
    assert join.endswith(f"within: {within}")


@pytest.mark.parametrize(
    ("query", "length", "shorter"),
    [
        ("select item, count(*) as n from bids group by item, session_window(at, {})", "'1 day'", "'24 hours'"),
        (
            "select count(*) over (partition by item order by at range between {} preceding and current row) as n "
            "from bids",
            "interval '24' hours",
            "interval '23' hours",
        ),
    ],
)
def test_days_are_no_lengths_of_event_time_where_clocks_are_turned(query, length, shorter):
    zone = {"timeZone": "America/New_York"}
    (problem,) = planned(app(query.format(length), job=zone)).problems
    assert "days have 23 to 25 hours in America/New_York" in problem.message
    accepted(app(query.format(shorter), job=zone))
    accepted(app(query.format(length), job={"timeZone": "+05:30"}))


def test_a_table_is_joined_by_its_key():
    made = steps("select b.item, t.rate, t.name from bids as b join `by-name` as t on t.name = upper(b.item)")
    assert made[-2][3] == "table: by-name; on: key"
    assert made[-1][3] == "item, rate, key as name"
    assert not any(kind == "partitionBy" for _, kind, _, _ in made)


def test_a_left_join_of_results_keeps_the_key_of_the_left_ones():
    total = "select item, count(*) as n, max(price) as most from bids group by item"
    made = steps(
        f"select a.item, a.n, b.item as found from ({total}) as a left join ({total}) as b "
        "on b.item = a.item and b.most > a.n and a.n = b.n and b.n > 1"
    )
    assert [does for _, kind, _, does in made if kind == "join"] == [
        "with: q-0.b-right; on: left: item; right: key; type: left"
    ]
    condition = "(most > n) and (n = b_n)"
    assert made[-2][:2] == ("q-0.b-on", "map")
    assert made[-2][3] == "item, n, " + ", ".join(
        f"if({condition}, {name}, null) as {name}" for name in ("b_item", "most", "b_n")
    )
    assert made[-1][3] == "item, n, b_item as found"


def test_other_conditions_of_a_left_join_leave_the_row_of_the_table_out():
    made = steps(
        "select b.item, t.rate from bids as b left join `by-both` as t "
        "on t.name = b.item and t.kind = b.bidder and t.rate > price and t.kind > 'a'"
    )
    condition = "if((rate > price) and (bidder > 'a')"
    assert made[-2][:3] == ("q-0.t-on", "map", "q-0.t-join")
    assert made[-2][3] == f"item, bidder, price, {condition}, rate, null) as rate"


def test_outer_joins_keep_keys_of_their_own_and_what_decides_who_meets():
    query = (
        "select b.item, i.id, i.kind from bids as b left outer join items as i on b.item = i.id "
        "and i.at between b.at and b.at + interval '1 hour' and i.kind <> b.bidder and i.kind > 'a' and b.price > 1 "
        "where b.bidder > 'c' and i.kind is null"
    )
    assert sorted(steps(query)) == sorted(
        [
            ("q-0.b-where", "filter", "bids", "bidder > 'c'"),
            ("q-0.i-where", "filter", "items", "kind > 'a'"),
            ("q-0.i-left", "map", "q-0.b-where", "item, at as b_at, bidder, price"),
            ("q-0.i-right", "map", "q-0.i-where", "id as key, id, kind, at"),
            ("q-0.i-left-by-item", "partitionBy", "q-0.i-left", "key: item"),
            ("q-0.i-right-by-key", "partitionBy", "q-0.i-right", "key: key"),
            (
                "q-0.i-join",
                "join",
                "q-0.i-left-by-item, q-0.i-right-by-key",
                "with: q-0.i-right-by-key; on: left: item; right: key; type: left; within: before: 0d; after: 1h; "
                "condition: (at between b_at and b_at + interval '1 hour') and (kind <> bidder) and (price > 1)",
            ),
            ("q-0.where", "filter", "q-0.i-join", "kind is null"),
            ("q-0", "map", "q-0.where", "item, id, kind"),
        ]
    )


@pytest.mark.parametrize(
    ("kind", "before", "behind", "selected"),
    [
        ("right", {"q-0.i-where"}, "price > 1", "item, key as id"),
        ("full", set(), "(price > 1) and (kind > 'a')", "item, id"),
    ],
)
def test_only_rows_that_a_join_keeps_are_filtered_before_it(kind, before, behind, selected):
    made = steps(
        f"select b.item, i.id from bids as b {kind} join items as i on b.item = i.id and b.at = i.at "
        "where b.price > 1 and i.kind > 'a'"
    )
    assert {name for name, kind, _, _ in made if kind == "filter"} == before | {"q-0.where"}
    assert [does for name, _, _, does in made if name in ("q-0.where", "q-0")] == [behind, selected]
    assert next(does for _, kind, _, does in made if kind == "join").endswith(
        f"on: key, key_2; type: {kind}; within: before: 0d; after: 0d"
    )


def test_results_are_joined_by_the_columns_of_their_keys():
    total = "select item, bidder, count(*) as n, max(price) as most from bids group by item, bidder"
    made = steps(
        f"select a.item, a.bidder, a.n, b.most from ({total}) as a join ({total}) as b "
        "on a.item = b.item and a.bidder = b.bidder and a.n = b.n"
    )
    (join,) = [does for _, kind, _, does in made if kind == "join"]
    assert join.endswith("on: item, bidder")
    assert [does for _, kind, _, does in made if kind == "filter"] == ["n = b_n"]


def test_a_table_of_two_columns_is_joined_by_both_in_whatever_order_they_stand():
    made = steps(
        "select b.item, t.rate, t.kind from bids as b join `by-both` as t "
        "on b.bidder = t.kind and lower(b.item) = t.name and b.price > 3"
    )
    assert [does for _, kind, _, does in made if kind == "joinTable"] == ["table: by-both; on: key, bidder"]
    assert made[-1][3] == "item, rate, bidder as kind"
    left = "select b.item, t.rate from bids as b left join `by-both` as t on b.bidder = t.kind and b.item = t.name"
    assert "table: by-both; on: item, bidder; type: left" in [does for _, _, _, does in steps(left)]


def test_the_first_rows_of_a_group_are_ranked():
    inner = (
        "select item, price, row_number() over (partition by lower(item) order by price desc, at) as place from bids"
    )
    made = steps(f"select max(price) as price, place from ({inner}) where place <= 3 group by place")
    assert made[:3] == [
        ("q-0.from.columns", "map", "bids", "item, price, lower(item) as group, at"),
        ("q-0.from.by-group", "partitionBy", "q-0.from.columns", "key: group"),
        ("q-0.from.first", "topN", "q-0.from.by-group", "orderBy: price desc, at; n: 3; rank: place; by: group"),
    ]
    assert made[4][3] == "place, price, group"
    (message,) = refused(f"select item, price, place from ({inner}) where place <= 3")
    assert "give what computes it a name in a query in parentheses" in message


def test_the_first_row_of_a_group_needs_no_place():
    inner = "select *, row_number() over (partition by item order by at desc) as place from bids"
    (top,) = [
        does for _, kind, _, does in steps(f"select item, price from ({inner}) where place = 1") if kind == "topN"
    ]
    assert top == "orderBy: at desc; n: 1; by: item"


@pytest.mark.parametrize("partition", ["", "partition by 1 "])
def test_the_first_rows_of_all_are_ranked_in_one_group_that_nobody_sees(partition):
    inner = f"select item, price, row_number() over ({partition}order by price desc) as place from bids"
    made = steps(f"select place, item from ({inner}) where place <= 3")
    assert [does for *_, does in made[:3]] == [
        "item, price, 1 as one",
        "key: one",
        "orderBy: price desc; n: 3; rank: place; by: one",
    ]
    assert made[-1][3] == "place, item"
    assert "add `place` to the select list" in refused(f"select item from ({inner}) where place = 1")[0]


@pytest.mark.parametrize(
    ("condition", "n", "filters"),
    [
        ("place < 4", 3, False),
        ("3 >= place", 3, False),
        ("4 > place", 3, False),
        ("place between 1 and 3", 3, False),
        ("place between 2 and 3", 3, True),
        ("2 = place", 2, True),
    ],
)
def test_a_limit_is_written_in_several_ways(condition, n, filters):
    inner = "select item, row_number() over (partition by item order by price) as place from bids"
    made = steps(f"select item, place from ({inner}) where {condition}")
    assert f"n: {n}; rank: place" in made[2][3]
    assert [does for _, kind, _, does in made if kind == "filter"] == [condition] * filters


def test_a_union_has_the_names_of_its_first_branch_and_the_widest_numbers():
    made = steps("select item, price as n from bids union all select id, length(kind) + 0.5 from items")
    assert sorted(does for _, kind, _, does in made if kind == "map") == [
        "id as item, n",
        "id, length(kind) + 0.5 as n",
        "item, cast(n as decimal(12,1)) as n",
        "item, price as n",
    ]


def test_a_query_that_is_read_twice_has_its_steps_once():
    made = steps(
        "with dear as (select item from bids where price > 5) select item from dear union all select item from dear"
    )
    assert [name for name, *_ in made] == ["q-0.dear.where", "q-0.dear", "q-0.1", "q-0.2", "q-0"]


LAST = "over (partition by item order by at rows between 9 preceding and current row)"


def test_aggregates_over_last_rows_are_an_over():
    assert steps(f"select *, avg(price) {LAST} as mean, count(*) {LAST} as n from bids")[1:] == [
        ("q-0.by-item", "partitionBy", "q-0.columns", "key: item"),
        ("q-0.last-rows", "over", "q-0.by-item", "by: item; rows: 10; select: avg(price) as mean, count(*) as n"),
        ("q-0", "map", "q-0.last-rows", "item, bidder, price, at, tags, more, mean, n"),
    ]


@pytest.mark.parametrize(
    ("frame", "does"),
    [
        ("rows between 0 preceding and current row", "rows: 1"),
        ("ROWS 3 PRECEDING", None),
        ("range between interval '10' minutes preceding and current row", "range: 10m"),
        ("range between interval '1 hour 5 minutes' preceding and current row", "range: 65m"),
    ],
)
def test_frames_are_so_many_rows_or_a_length_of_time(frame, does):
    query = f"select max(price) filter (where bidder <> 'x') over (order by at {frame}) as most, item from bids"
    made = {kind: told for _, kind, _, told in steps(query)}
    expected = f"by: one; {does or 'rows: 4'}; select: max(price) filter (where bidder <> 'x') as most"
    assert made["over"] == expected
    assert made["map"] == "most, item"


def test_last_rows_of_results_have_the_order_of_the_query():
    inner = "select item, bidder, count(*) as n from bids group by item, bidder"
    made = steps(
        f"select item, bidder as who, sum(n) over (partition by bidder order by n desc, item rows 2 preceding) as top "
        f"from ({inner})"
    )
    assert made[-3:] == [
        ("q-0.by-who", "partitionBy", "q-0.columns", "key: who"),
        ("q-0.last-rows", "over", "q-0.by-who", "by: who; orderBy: n desc, item; rows: 3; select: sum(n) as top"),
        ("q-0", "map", "q-0.last-rows", "item, who, top"),
    ]
    last = f"select item, sum(n) {LAST.replace('at', 'n')} as top from ({inner})"
    outer = f"select max(top) as most, item from ({last}) group by 2"
    assert [kind for _, kind, _, _ in steps(outer)].count("over") == 1


def test_the_event_time_that_others_stand_in_for_orders_rows_that_have_it():
    made = steps("select item, sum(price) over (order by made.at rows 3 preceding) as s from `late-bids`")
    assert made[0] == ("q-0.timed", "filter", "late-bids", "made.at is not null")


REFUSED = {
    "select itm, prise + 1 as x from bids": [
        "UnknownColumn: line 1, column 13, `prise`: unknown column `prise`; did you mean `price`?",
        "UnknownColumn: line 1, column 8, `itm`: unknown column `itm`; did you mean `item`?",
    ],
    "select item\nfrom bids\n  order by item": ["SqlUnsupported: line 3, column 3, `order by`: a stream has no end"],
    "select item from bids limit 3": ["line 1, column 23, `limit`: a stream has no first rows"],
    "select item from bidz": ["UnknownStream: line 1, column 18, `bidz`: `bidz` is neither"],
    "select item from bids union select id from items": ["line 1, column 23, `union`: write `union all`"],
    "select item from bids intersect select id from items": ["`intersect`: join the two queries"],
    "select item from bids where item in (select id from items)": ["column 38, `select`: a query inside an expression"],
    "select (select 1) as x from bids": ["column 9, `select`: a query inside an expression"],
    "drop table bids": ["column 1, `drop`: an operator is one query"],
    "select item from bids; select id from items": ["column 24, `select`: one query is expected"],
    "select item, rank() over (partition by item order by price) as r from bids": ["`rank() over (partition"],
    "select item, lag(price) over (partition by item order by at) as r from bids": [
        "f(...) over (partition by ... order by ...). The value before is `first(...)` of the last two rows",
    ],
    "select item, sum(price) over (partition by item order by at) as r from bids": ["`at`: without a frame all rows"],
    "select item, sum(price) over (partition by item order by price rows 3 preceding) as r from bids": [
        "`price`: this is not the event time"
    ],
    "select item, sum(price) over (partition by item order by at desc rows 3 preceding) as r from bids": [
        "`at desc`: rows go by their event time"
    ],
    "select item, sum(price) over (partition by item order by at rows between 1 preceding and 1 following) as r from "
    "bids": ["`rows between 1 preceding and 1 following`: a frame is"],
    "select item, sum(price) over (partition by item order by at rows unbounded preceding) as r from bids": [
        "`rows unbounded preceding`: a frame is"
    ],
    "select sum(price) over (order by at rows 3 preceding) + 1 as r from bids": ["`+`: a window function is an item"],
    "select sum(price) over (order by at rows 3 preceding) from bids": ["this column needs a name"],
    "select sum(prise) over (partition by itm order by att rows 3 preceding) as r from bids": [
        "`prise`: unknown column",
        "`itm`: unknown column",
        "`att`: unknown column",
    ],
    "select item, sum(price) over (order by at rows 3 preceding) as item from bids": ["two columns are named `item`"],
    "select sum(price) over (order by at rows 3 preceding) as a, sum(price) over (order by at rows 4 preceding) as b "
    "from bids": ["all windows of a query are written alike"],
    "select item, max(n) over (order by n range between interval 1 hour preceding and current row) as m from (select "
    "item, count(*) as n from bids group by item)": ["results that change, and go by their order"],
    "select item, n, max(n) over (partition by item order by n rows 3 preceding) as m from (select item, bidder, "
    "count(*) as n from bids group by item, bidder)": ["add `bidder` to the select list"],
    "select item, row_number() over (partition by item order by at rows 3 preceding) as r from bids": [
        "`rows 3 preceding`: row_number() has no frame"
    ],
    "select item, count(*) as n, sum(price) over (order by at rows 3 preceding) as s from bids group by item": [
        "groups come first"
    ],
    "select item, row_number() over (partition by item order by price) as r from bids": ["`row_number() over"],
    "select count(*) as n from bids": ["column 8, `count(*) as n`: without `group by` all rows are one group"],
    "select max(price) as most from bids group by item": ["column 46, `item`: the result of a group changes"],
    "select item, price from bids group by item": ["column 14, `price`: this is neither in `group by` nor"],
    "select item, count(*) as n from bids group by rollup(item)": ["`rollup`: write one operator for each way"],
    "select item, count(*) as n from bids group by grouping sets (item)": ["write one operator for each way"],
    "select item, count(*) as n from bids group by item, window(more, '1 hour')": [
        "`more`: this is not the event time"
    ],
    "select item, count(*) as n from bids group by item, window(at, 'soon')": ["write lengths as '10 seconds'"],
    "select b.item from bids as b left join items as i on b.item = i.id": [
        "column 40, `items as i`: a row of a stream may find a partner until its time is over, so a left join needs "
        "both bounds: add `and i.at between b.at - interval '1 hour' and b.at + interval '1 hour'` behind `on`"
    ],
    "select b.item from `late-bids` as b full join items as i on b.item = i.id where b.at > i.at and made is null": [
        "add `and i.at between b.made.at - interval '1 hour'"
    ],
    "select b.item from bids as b full join items as i on b.item = i.id and b.at > i.at": ["a full join needs both"],
    "select b.item from bids as b right join items as i on b.item = i.id where b.at between i.at and i.at": [
        "write those of `where` behind `on`"
    ],
    "select b.item from bids as b left join (select max(at) as at, id from items group by id) as i on b.item > i.id": [
        "`: the rows of `b` are events, and the others change: join before grouping",
    ],
    "select b.item from bids as b join items as j on b.item = j.id full join items as i on b.item = i.id and i.at "
    "= b.at left join (select * except (at) from items) as o on o.id = b.item and o.kind = b.at": [
        "`(select * except (at) from items) as o`: a left join of streams is the first join",
        "`items as i`: a full join of streams is the first join of its query",
    ],
    "select b.item from bids as b join items as j on b.item = j.id full join items as i on b.item = i.id and i.at "
    "= b.at left join (select * except (at) from items) as o on o.id = b.item": [
        "`(select * except (at) from items) as o`: a left join of streams is the first join",
        "`items as i`: a full join of streams is the first join of its query",
    ],
    "select b.item from bids as b left join (select * except (at) from items) as o on o.id = b.item": [
        "the query knows of no column of `o` that is the event time"
    ],
    "select a.item, a.n, b.most from (select item, count(*) as n from bids group by item) as a right join (select "
    "item, max(price) as most, kind from bids join items on id = item group by item, kind) as b on a.item = b.item": [
        "one partner at most: on ... = b.item and ... = b.kind",
        "of rows that change there are inner and left joins: write it as a `left join`, with the sides the other way",
    ],
    "select a.item, a.n from (select item, count(*) as n from bids group by item) as a left join (select max(price) as "
    "most from bids group by item) as b on a.n = b.most": ["it is not in the select list of this query; add it"],
    "select b.item from bids as b join `by-name` as t on t.name = b.item right join items as i "
    "on b.item = i.id and i.at = b.at": ["`items as i`: a right join of streams is the first join of its query"],
    "select b.at from bids as b full join items as i on b.price = cast(length(i.id) as bigint) and i.at = b.at": [
        "`b.price` is int and `cast(length(i.id) as bigint)` is bigint: rows of a full join without a partner have "
        "either key in one column; write cast(b.price as bigint) = cast(length(i.id) as bigint)"
    ],
    "select b.item from bids as b left semi join items as i on b.item = i.id": ["`left semi`: `join`, or a `left`"],
    "select t.rate from bids as b right join `by-name` as t on t.name = b.item": ["a table has no rows of its own"],
    "select /*+ broadcast(b) */ item from bids as b": ["column 12, `broadcast`: the one hint is STATE_TTL('a' = '30d'"],
    "select /*+ STATE_TTL(b = 'soon') */ item from bids as b": ["`'soon'`: write lengths of time as '30d', '12 hours'"],
    "select /*+ STATE_TTL(b = 30) */ item from bids as b": ["`30`: write lengths of time"],
    "select /*+ STATE_TTL(b '1d') */ item from bids as b": ["`'1d'`: `=` and a length of time are expected"],
    "select /*+ STATE_TTL(b = '1d' */ item from bids as b": ["`,` or the end of the hint, `)`, is expected"],
    "select /*+ STATE_TTL() */ item from bids as b": ["`)`: the name of a source is expected"],
    "select /*+ */ item from bids as b": ["a hint is expected"],
    "select /*+ STATE_TTL(b = '1d') STATE_TTL(b = '1d') */ item from bids as b": ["the end of the hints, `*/`"],
    "select /*+ STATE_TTL('b' = '1d'), STATE_TTL('i' = '2d') */ b.item from bids as b join items as i "
    "on b.item = i.id": ["column 51, `'2d'`: it is 1d of another source"],
    "select /*+ STATE_TTL('b' = '1d', 'item' = '1d', 't' = '1d') */ b.item from bids as b join items as i "
    "on b.item = i.id join `by-name` as t on t.name = b.item": [
        "`'item'`: `item` is none of the sources behind `from`",
        "`'t'`: a table keeps its rows",
        "*/`: what is kept of the sources of a `select` ends alike: add 'i' = '1d'",
    ],
    "select /*+ STATE_TTL('a' = '1d') */ distinct itm from (select * from bids)": [
        "`'a'`: `a` is none",
        "`(select * from bids)`: name this query",
        "`itm`: unknown column",
    ],
    "select /*+ STATE_TTL('bids' = '1d') */ item from bids": [
        "column 8, `/*+ STATE_TTL('bids' = '1d') */`: it ends nothing"
    ],
    "select /*+ STATE_TTL('bids' = '1d') */ item, count(*) as n from bids group by item, window(at, '1 hour')": [
        "it ends nothing"
    ],
    "select /*+ STATE_TTL('a' = '1d') */ n, count(*) as m from (select item, count(*) as n from bids group by item) "
    "as a group by n": ["rows of results that change are kept while they are there"],
    "select /*+ STATE_TTL('bids' = '1d') */ item, max(price) over (partition by item order by at rows 3 preceding) "
    "as m from bids": ["it ends nothing"],
    "select /*+ STATE_TTL('b' = '1d', 'i' = '1d') */ b.item from bids as b left join items as i on b.item = i.id and "
    "b.at = i.at": ["it ends nothing"],
    "select item from bids wher price > 3": [
        "line 1, column 23, `wher`: `where`",
    ],
    "select b.item from bids as b joyn items as i on b.item = i.id": ["column 30, `joyn`: `where`, `group by`"],
    "select item from bids b havin price > 3": [
        "column 25, `havin`",
    ],
    "select item frm bids": ["line 1, column 13, `frm`: `from` and a stream"],
    "select price as p, item i bids where item = 'a'": ["line 1, column 25, `i`: `from` and a stream"],
    "select b.item from bids as b join items as i on b.price > 3": ["`items as i`: no equality joins it"],
    "select b.item from bids as b join items as i using (item)": ["`using`: write the condition"],
    "select b.item from bids as b join items for system_time as of b.at as i on b.item = i.item": [
        "`for`: the version of a time is found by an operator of its own, a `join` with `asOf: true`"
    ],
    "select b.item from bids as b left join items as i for version as of 3 on b.item = i.item": [
        "`for`: the version of a time"
    ],
    "select b.at from bids as b join items as i on b.price = i.id": [
        "`b.price = i.id`: `b.price` is int and `i.id` is string: rows with such keys never meet; "
        "write cast(b.price as string) = i.id"
    ],
    "select b.at from bids as b join items as i on b.price + 0.5 = length(i.id)": [
        "write b.price + 0.5 = cast(length(i.id) as decimal(12,1))"
    ],
    "select b.at from bids as b join items as i on length(i.id) = b.at": ["cast one of them to the type"],
    "select b.at from bids as b join `by-name` as t on t.name = b.price": [
        "`t.name = b.price`: `b.price` is int and `t.name` is string: rows with such keys never meet; write cast("
    ],
    "select b.itm, i.knd from bids as b join items as i on b.id = i.id where i.kin = 'a'": [
        "`i.knd`: unknown column `knd`; did you mean `kind`?",
        "`b.id`: unknown column `id`",
        "`i.kin`: unknown column `kin`; did you mean `kind`?",
        "`b.itm`: unknown column `itm`; did you mean `item`?",
    ],
    "select itm, count(*) as n from bids where prise > 1 group by bider, window(att, '1 hour') having m > 1": [
        "`prise`",
        "`bider`",
        "`att`",
        "`itm`",
        "`m`",
    ],
    "select item from bids where at > now()": ["column 29, `at > now()`: now would give another result"],
    "select at from bids as b join items as i on b.item = i.id": [
        "`at`: `at` is a column of b and i; write which one's"
    ],
    "select b.item from bids as b join `by-upper` as t on t.name = b.item": ["the key of table `by-upper` is computed"],
    "select t.rate from bids as b join `by-both` as t on t.name = b.item": [
        "`: a table is joined by its key: on ... = `name` and ... = `kind`"
    ],
    "select t.name from bids as b left join `by-name` as t on t.name = b.item": ["`t.name`: this is null where"],
    "select name from `by-name`": ["a table has no rows of its own"],
    "select item + 1 as a, substring(5) as b, more.c from bids": ["`substring(5) as b`", "`more.c`"],
    "select item, item from bids": ["`item`: two columns are named `item`"],
    "select itm from bids order by item desc, upper(bidder) limit 3 offset 2": [
        "`order by`",
        "`limit`",
        "`offset`",
        "`itm`: unknown column",
    ],
    "select item from (select itm as item from bids order by (1) union select id from items limit 1) sort by item": [
        "`order by`",
        "`union`: write `union all`",
        "`limit`",
        "`sort by`",
        "`itm`: unknown column",
    ],
    "select item from bids order by item limit 3 select": ["`order by`", "`limit`"],
    "select item from bids order by item) where price > 3": ["`order by`", "`)`: one query is expected"],
    "select item, price, item, upper(price) as Price from bids": [
        "`item`: two columns are named `item`",
        "`upper(price) as Price`: two columns are named `Price`",
    ],
    "select sum(nothing(price)) as a from bids group by item": [
        "`sum(nothing(price)) as a`",
        "`item`: the result of a group",
    ],
    "select b.item, t.rate from bids as b join items as i on b.price > 3 join items as j on j.id = i.id "
    "left join `by-name` as t on t.rate = 3": [
        "``by-name` as t`: a table is joined by its key",
        "`items as i`: no equality joins it",
    ],
    "select price + 1 from bids": ["`price + 1`: this column needs a name"],
    "select item from bids union all select price from bids": [
        "is string in one query of `union all` and int in another"
    ],
    "select itm from bids union all select upper(idd) from items": ["`idd`: unknown column", "`itm`: unknown column"],
    "select item from bids union all select id, kind from items": ["1 and 2 columns"],
    "with a as (select 1 as x from bids) select item from bids": ["nothing reads `a`"],
    "select item from bids where": ["the text ends too early"],
    "select item from table(tumble(table bids, descriptor(at), interval '1' hour))": ["window(at, '1 hour')"],
    "select item from bids where price = 'a' and nothing(item)": ["there is no function nothing"],
    "select substring(5) as part from bids where nothing(item)": ["`nothing(item)`", "`substring(5) as part`"],
    "select item, current_timestamp() as now from bids": ["another result when the same rows are read again"],
    "select 'a from bids": ["a quote or a comment may lack its end"],
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_can_not_be_planned_is_refused_at_its_place(query):
    messages = refused(query)
    assert len(messages) == len(REFUSED[query]), messages
    for message, part in zip(messages, REFUSED[query], strict=True):
        assert part in message


def test_a_query_that_is_refused_hides_no_other_problems():
    queries = ["select itm from bids", "select kin from items", "selec x from bids", "select item from bids"]
    made = app(*queries)
    made["spec"]["operators"].append({"name": "other", "from": "bids", "filter": "prise > 1"})
    made["spec"]["operators"].append({"name": "last", "from": "q-3", "sendTo": "nowhere"})
    assert {problem.path for problem in planned(made).problems} == {
        "spec.operators[0].sql",
        "spec.operators[1].sql",
        "spec.operators[2].sql",
        "spec.operators[8].filter",
        "spec.operators[9].sendTo",
    }


def test_a_query_may_read_another_one_and_not_itself():
    made = accepted(app("select item, price from bids where price > 2", "select upper(item) as item, price from `q-0`"))
    assert made.operators["q-1"].inputs == ("q-0",)
    (problem,) = planned(app("select item from bids union all select item from `q-0`")).problems
    assert (str(problem.code), problem.path) == ("Cycle", "spec.operators[0].sql")


def test_what_the_planner_finds_in_a_step_is_at_the_text():
    query = "select * from (select item, count(*) as n from bids group by item) union all select item, 1 as n from bids"
    assert {problem.path for problem in planned(app(query)).problems} == {"spec.operators[0].sql"}


def test_after_an_unknown_column_upstream_nothing_more_is_said():
    ops = [
        {"name": "a", "from": "bids", "map": "itm as x"},
        {"name": "b", "sql": "select x from a"},
        {"name": "c", "from": "b", "sendTo": "out"},
    ]
    problems = planned(document(ops, streams={"bids": STREAMS["bids"], "out": {}})).problems
    assert [problem.path for problem in problems] == ["spec.operators[0].map"]


@pytest.mark.parametrize(
    ("after", "edit_class"),
    [
        ("select item, count(*) as n from bids group by item having n > 1", EditClass.RESTART),
        ("select item, count(*) as n, 1 as one from bids group by item", EditClass.RESTART),
        ("select /*+ state_ttl('bids' = '1d') */ item, count(*) as n from bids group by item", EditClass.NEW_RUN),
        ("select item, count(*) as n from bids where price > 1 group by item", EditClass.NEW_RUN),
        ("select bidder as item, count(*) as n from bids group by bidder", EditClass.NEW_RUN),
        ("select item, sum(price) as n from bids group by item", EditClass.NEW_RUN),
        ("select item from bids", EditClass.NEW_RUN),
    ],
)
def test_an_edit_needs_a_new_run_if_it_changes_what_a_state_holds(after, edit_class):
    before = parse_document(app("select item, count(*) as n from bids group by item")).app
    edits = classify_edits(before, parse_document(app(after)).app)
    assert [edit.edit_class for edit in edits] == [edit_class]


@pytest.mark.parametrize(
    ("before", "after", "edit_class"),
    [("1d", "36 hours", EditClass.RESTART), ("1d", "forever", EditClass.NEW_RUN), ("forever", "1d", EditClass.NEW_RUN)],
)
def test_an_edit_may_change_how_long_the_steps_of_a_query_remember(before, after, edit_class):
    query = (
        "select /*+ STATE_TTL('b' = '{0}', i = '{0}') */ b.item, count(*) as n "
        "from bids as b join items as i on b.item = i.id group by b.item"
    )
    documents = [parse_document(app(query.format(length))).app for length in (before, after)]
    edits = classify_edits(*documents)
    assert {edit.edit_class for edit in edits} == {edit_class}


@pytest.mark.parametrize(
    ("query", "kind", "ends"),
    [
        ("b.item from bids as b join items as i on b.item = i.id", "join", "ttl: 30d"),
        ("distinct b.item from bids as b join items as i on b.item = i.id and b.at = i.at", "dedup", "ttl: 30d"),
        ("b.item from bids as b join (select id from items group by id) as i on b.item = i.id", "join", "ttl: 30d"),
        ("item, count(*) as n from bids as b, rates as i where b.item = i.name group by 1", "aggregate", "ttl: 30d"),
        ("b.item from bids as b join rates as i on b.item = i.name group by b.item", "dedup", "ttl: 30d"),
    ],
)
def test_a_hint_says_how_long_a_query_remembers(query, kind, ends):
    (does,) = [
        does for _, one, _, does in steps(f"select /*+ STATE_TTL('B' = '30d', i = '30 days') */ {query}") if one == kind
    ]
    assert does.endswith(ends)


def test_the_first_and_the_last_rows_of_a_key_are_forgotten_by_the_query_that_has_them():
    inner = "select /*+ STATE_TTL('bids' = '12h') */ *, row_number() over (partition by item order by price) as place"
    made = steps(f"select item, price from ({inner} from bids) where place = 1")
    assert [does for _, kind, _, does in made if kind == "topN"] == ["orderBy: price; n: 1; by: item; ttl: 12h"]
    last = "select /*+ state_ttl('bids' = 'Forever') */ item, max(price) over (partition by item order by at "
    made = steps(f"{last} rows 3 preceding) as most from bids")
    assert "rows: 4; range: forever" in next(does for _, kind, _, does in made if kind == "over")
    assert accepted(app(f"{last} rows 3 preceding) as most from bids")).warnings == ()


def test_from_belongs_to_all_other_kinds():
    for given in ({"sql": "select 1", "from": "a"}, {"filter": "a"}):
        with pytest.raises(ValueError, match="from"):
            OperatorSpec.model_validate({"name": "x", **given})


def test_the_queries_of_the_page_are_planned():
    queries = [block.text for block in pages.fences(pages.read("sql.md")) if block.language == "sql"]
    for query in queries:
        assert steps(query)
    assert queries


def test_a_name_that_stands_twice_is_one_problem():
    queries = [{"name": "a", "sql": "select item from bids"}, {"name": "a", "sql": "select bidder from bids"}]
    ops = [*queries, {"name": "b", "from": "a", "sendTo": "out"}]
    streams = {"bids": STREAMS["bids"], "out": {}}
    assert [str(problem.code) for problem in planned(document(ops, streams=streams)).problems] == ["DuplicateName"]


def test_what_has_no_columns_yet_is_no_second_problem():
    ops = [{"name": "a", "sql": "select item from bids"}, {"name": "b", "from": "a", "sendTo": "out"}]
    (problem,) = planned(document(ops, streams={"bids": {}, "out": {}})).problems
    assert (problem.path, str(problem.code)) == ("spec.streams.bids", "InvalidSpec")


def test_a_third_side_of_the_same_key_needs_one_partition_by_more():
    joined = "bids as a join bids as b on a.item = b.item join items as i on i.id = b.item"
    made = steps(f"select a.item, b.price, i.kind from {joined}")
    assert [does for _, kind, _, does in made if kind == "partitionBy"] == ["key: item", "key: b_item", "key: id"]


PER_ITEM = "(select item, count(*) as bids from bids group by item)"


def test_two_results_are_joined_and_their_pairs_have_the_keys_of_both():
    query = (
        f"select a.item, a.bids, b.bidder, b.n from {PER_ITEM} as a join (select item, bidder, count(*) as n from bids "
    )
    planned_ = accepted(app(query + "group by item, bidder) as b on a.item = b.item"))
    assert planned_.operators["q-0"].type.changes.columns == ("item", "bidder")
    lacking = query.replace("b.bidder, ", "", 1) + "group by item, bidder) as b on a.item = b.item"
    (message,) = refused(lacking)
    assert "add `bidder` to the select list" in message


def test_a_key_that_a_join_computes_is_selected_by_a_name_of_its_own():
    most = "(select item, max(bidder) as most from bids group by item)"
    right = "(select bidder, count(*) as n from bids group by bidder) as b"
    (message,) = refused(f"select a.item, n from {most} as a left join {right} on a.most = b.bidder")
    assert "add `a.most` to the select list" in message
    (message,) = refused(
        f"select a.item, lower(most) as m, n from {most} as a left join {right} on lower(most) = bidder"
    )
    assert "give what computes it a name in a query in parentheses, and use and select that name here" in message
    named = f"(select item, lower(most) as m from {most}) as a"
    assert accepted(app(f"select a.item, a.m, n from {named} left join {right} on a.m = b.bidder"))


def test_a_result_is_not_joined_with_events():
    (message,) = refused(f"select a.item, b.price from {PER_ITEM} as a join bids as b on a.item = b.item")
    assert "the other one has events" in message
