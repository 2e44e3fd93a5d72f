"""Two apps with a stream between them find what one app finds: watermarks and ends cross, whoever is restarted."""

from collections import Counter
from contextlib import closing

import pytest

from streamapp_core.control.messages import UndecodableMessageError
from streamapp_runtime.errors import PlanRefused, RuntimeFailure
from streamapp_runtime.threads import in_thread
from streamapp_systems.protocols import BadRecord
from support.apps import DEADLINE
from support.growth import partitions
from support.split import GROUPS, HOUR, KEYS, Split


@pytest.fixture
def split(tmp_path):
    return Split(tmp_path, {"log": {"path": str(tmp_path / "log.db")}})


def test_the_end_of_the_first_app_ends_the_second(split):
    split.write(hours=3, count=2)
    assert split.run(split.first(bounded=True)).written == {"by-group": 6 * len(KEYS)}
    (between,) = split.run(split.second()).streams
    split.run(split.unsplit(bounded=True))
    assert split.windows("second") == split.windows("unsplit") == split.expected(3)
    assert (between.name, between.ended, between.partitions) == ("between", 3, 3)


def test_an_app_that_came_first_follows_the_other_to_its_end(split):
    split.write(hours=3, count=2)
    with pytest.raises(PlanRefused, match=r"`app.by-group` does not exist.*start the app that writes it first"):
        split.run(split.second())
    follower = in_thread("second", lambda: split.run(split.second(partitions=3)))
    split.run(split.first(bounded=True))
    follower.result(DEADLINE)
    assert split.windows("second") == split.expected(3)


def test_both_apps_are_killed_and_the_tasks_of_the_first_grow(split):
    split.write(hours=3, count=2)
    split.kill(split.first(), split.all_read)
    split.write(hours=2, count=2)
    split.drain(split.first(), split.all_read)
    split.kill(split.second(), lambda _: split.windows("second").total() > 0)
    seen = []

    def grow(summary):
        seen.append(partitions(summary))
        if len(seen) == 1:
            split.source.expand(4)
            split.write(hours=2, count=4)

    split.drain(split.first(), lambda summary: 4 in seen and split.all_read(summary), listener=grow)
    split.kill(split.second(), lambda _: split.all_counted("second"))
    split.kill(split.unsplit(), lambda _: split.all_counted("unsplit"))
    assert split.windows("second") == split.windows("unsplit") == split.expected(split.hours - 1)


def test_the_second_app_waits_for_tasks_that_the_first_one_got(split):
    """Their rows may be older than those of the others, and count all the same."""

    def write(*keys, at, count):
        split.source.write(*keys, at=at, count=count)
        split.drain(split.first(), split.all_read)

    def read(summary):
        return summary.streams[0].read == sum(split.source.written.values())

    write(0, 1, 2, 3, at=HOUR, count=2)
    split.source.expand(4)
    write(0, 1, at=5 * HOUR, count=4)
    split.kill(split.second(), read)
    assert not split.windows("second")
    write(2, 3, 2, 3, at=[HOUR + 1, HOUR + 1, 6 * HOUR, 6 * HOUR], count=4)
    split.kill(split.second(), lambda _: split.windows("second").total() == 4)
    first_hour = "1970-01-01T01:00:00Z"
    counted = {(group, rows, total) for group, rows, total in ((0, 1, 0), (1, 1, 0), (2, 2, 1), (3, 2, 1))}
    assert split.windows("second") == Counter((group, first_hour, rows, total) for group, rows, total in counted)


@pytest.mark.parametrize("name", ["app-first", "another-app"])
def test_no_run_writes_behind_the_rows_of_another_one(split, name):
    split.write(hours=1, count=2)
    split.run(split.first(bounded=True))
    document = split.first(bounded=True)
    document["metadata"]["name"] = name
    with pytest.raises(RuntimeFailure, match=r"app\.by-group in system hub has been written to by another run"):
        split.run(document, fresh=True, run_id="r2")
    assert [stream.ended for stream in split.run(split.first(bounded=True)).streams] == [2]
    assert split.run(split.second()).streams[0].read == 2 * len(KEYS)


def test_the_first_app_may_read_the_stream_too_and_deletes_nothing_of_it(split):
    split.write(hours=3, count=2)
    document = split.unsplit(bounded=True)
    document["spec"]["operators"][1]["partitionBy"]["stream"] = split.shared
    split.run(document)
    split.run(split.second())
    assert split.windows("second") == split.windows("unsplit") == split.expected(3)


def test_some_columns_are_enough_and_one_of_them_may_be_the_event_time(split):
    split.write(hours=1, count=2)
    first = split.first(bounded=True)
    first["spec"]["operators"][0]["map"] = "k % 5 as g, k, n, 86400000L * 2000 + n as at"
    split.run(first)
    second = split.second(schema="n int, at bigint, g int", eventTime={"column": "at"})
    second["spec"]["operators"][0]["window"]["tumbling"] = "1000d"
    split.run(second)
    assert {(g, start, c) for g, start, c, _ in split.windows("second")} == {
        (g, "1975-06-24T00:00:00Z", 8 if g == 0 else 6) for g in range(GROUPS)
    }


def test_a_table_is_filled_by_another_apps_stream(split):
    split.write(hours=1, count=2)
    split.run(split.first(bounded=True))
    document = split.second(broadcast=True)
    document["spec"]["streams"]["in"] = split.first(bounded=True)["spec"]["streams"]["in"]
    document["spec"]["tables"] = {"latest": {"key": "g", "sideInputs": ["between"]}}
    document["spec"]["operators"] = [
        {"name": "typed", "from": "in", "map": "k, k % 5 as g0"},
        {"name": "joined", "from": "typed", "joinTable": {"table": "latest", "on": "g0", "type": "inner"}},
        {"name": "all", "from": "joined", "map": "k as g, n as c, 0 as s, timestamp '2024-01-01' as window_start"},
        {"name": "sent", "from": "all", "sendTo": "out"},
    ]
    split.run(document)
    assert split.windows("second").total() == 2 * len(KEYS)


def test_rows_with_other_columns_are_refused_by_name(split):
    split.write(hours=1, count=2)
    split.run(split.first(bounded=True))
    wrong = r"hub.between\[\d\], offset 0: the rows have columns \(g int32, n int32, .*none is `g string`, `m int32`"
    with pytest.raises(RuntimeFailure, match=wrong):
        split.run(split.second(schema="g string, n int, m int"))


def test_a_stream_that_is_no_apps_intermediate_one_is_told_from_one(split):
    split.write(hours=1, count=2)
    with pytest.raises(UndecodableMessageError, match=r"hub.between\[\d\] at offset 0: no message has the type 123"):
        split.run(split.second(name="app.in"))
    split.run(split.first(bounded=True))
    with pytest.raises(BadRecord, match=r"hub.between\[\d\], offset 0"):
        split.run(split.second(controlMessages=False), fresh=True, run_id="r2")


def test_partitions_that_the_first_app_does_not_know_are_refused(split):
    split.write(hours=3, count=2)
    split.drain(split.first(), split.all_read)
    split.kill(split.second(), lambda _: split.all_counted("second"))
    with closing(split.source.admin()) as admin:
        admin.expand(split.source.stream("by-group"), 6)
    told = []
    split.kill(split.second(), lambda summary: told.append(summary.refused) or len(told) > 2)
    assert {len(refused) for refused in told} == {1}
    assert told[0][0].startswith("spec.streams.between: UnsupportedExpansion: `between` has 6 partitions now and had 3")


def test_a_stream_that_was_recreated_is_not_taken_for_the_previous_one(split):
    split.write(hours=3, count=2)
    split.drain(split.first(), split.all_read)
    split.kill(split.second(), lambda _: split.all_counted("second"))
    with closing(split.source.admin()) as admin:
        admin.delete([split.source.stream("by-group")])
    split.run(split.first(bounded=True), fresh=True, run_id="r2")
    with pytest.raises(
        RuntimeFailure, match=r"spec.streams.between: another app has recreated its stream since run r1"
    ):
        split.run(split.second())
    split.run(split.second(), fresh=True, run_id="r2")
