"""Streams that grow between two starts of a run, and under it."""

import pytest

from support.growth import Growing, partitions

LOG = {"log": {"path": "log.db"}}
KEYS = range(32)
HOUR = 3_600_000
BACKLOG = 15_000
"""Rows of one partition: more than one poll brings of it, if one processor reads 8 partitions."""
REFUSED = (
    "spec.streams.in: UnsupportedExpansion: `in` has 6 partitions now: the expansion algorithm 'modulo' does not "
    "accept a growth from 4 to 6 partitions, as keys would leave their state; let it grow to a count that is accepted, "
    "or set a new `spec.runId` to start from nothing",
)


@pytest.fixture
def app(tmp_path):
    return Growing(tmp_path, LOG)


@pytest.fixture
def backlogged(tmp_path):
    """Gives an app that has run with 8 partitions, and now has 16; rows of each key lie in an old and in a new one."""

    def make(grace):
        app = Growing(tmp_path, LOG, partitions=8)
        document = app.document(processors=1, expansionGracePeriod=grace)
        app.write(*KEYS, count=8)
        app.run(document, app.all_copied)
        app.expand(16)
        app.write(*[0] * BACKLOG, *KEYS, count=8)
        app.write(*KEYS, count=16)
        return app, document

    return make


@pytest.mark.parametrize("grace", ["10m", "0s"])
def test_a_run_goes_on_with_streams_that_grew_while_it_was_away(backlogged, grace):
    """Whether it comes back in the grace period or after it."""
    app, document = backlogged(grace)
    app.run(document, app.all_copied)
    app.expand(32)
    app.write(*[8] * BACKLOG, *KEYS, count=16)
    app.write(*KEYS, count=32)
    app.run(document, app.all_copied)
    app.check()


def test_restarts_while_partitions_wait_keep_the_order(backlogged):
    app, document = backlogged("10m")
    for rows in (1, 10_000):
        app.run(document, lambda summary, rows=rows: summary.written.get("out", 0) >= len(KEYS) + rows)
        app.write(*KEYS, count=16)
    app.run(document, app.all_copied)
    app.check()


def test_a_running_app_follows_its_streams_while_a_producer_is_held_on_old_metadata(app):
    held, current = app.producer("held", 4), app.producer("current", 4)
    seen = []

    def produce(summary):
        """Each producer writes its own keys; one takes up each growth at once, the other one after the last."""
        seen.append(partitions(summary))
        held.write(*range(100, 132))
        current.write(*KEYS)
        if current.count == seen[-1] < 16:
            app.expand(2 * current.count)
            current.learn(2 * current.count)
        if seen.count(16) == 4:
            held.learn(16)

    app.run(app.document(), lambda summary: seen.count(16) > 8, listener=produce)
    held.close()
    current.close()
    assert list(dict.fromkeys(seen)) == [4, 8, 16]
    app.run(app.document(), app.all_copied)
    app.check()


def test_a_growth_that_is_refused_leaves_the_app_as_it_was_until_it_is_mended(app):
    app.write(*KEYS, count=4)
    told = []

    def produce(summary):
        """Write on; let the stream have 6 partitions first, and 8 once that was refused."""
        told.append(summary.refused)
        app.write(*KEYS, count=4)
        if len(told) == 2:
            app.expand(6)
        if told.count(REFUSED) == 4:
            app.expand(8)

    app.run(app.document(), lambda summary: partitions(summary) == 8, listener=produce)
    assert list(dict.fromkeys(told)) == [(), REFUSED]
    app.run(app.document(), app.all_copied)
    app.check()


def test_a_run_goes_on_though_its_streams_grew_in_a_way_that_is_refused(app):
    app.write(*KEYS, count=4)
    app.run(app.document(), app.all_copied)
    app.expand(6)
    app.write(*KEYS, count=4)
    told = []
    app.run(app.document(), app.all_copied, listener=told.append)
    assert {(summary.refused, partitions(summary)) for summary in told} == {(REFUSED, 4)}
    app.check()


def test_an_app_without_state_gets_new_tasks(app):
    """Its tasks follow the partitions: rows of a key are in order as long as they stay in one."""
    operators = [
        {"name": "by-key", "from": "in", "partitionBy": {"key": "k"}},
        {"name": "sent", "from": "by-key", "sendTo": "out"},
    ]
    document = app.document(operators=operators)
    seen = []

    def produce(summary):
        seen.append(partitions(summary))
        app.write(*KEYS, count=seen[-1])
        if len(seen) == 2:
            app.expand(6)

    app.run(document, lambda summary: seen.count(6) > 3, listener=produce)
    app.expand(7)
    app.write(*KEYS, count=7)
    app.run(document, app.all_copied)
    assert {key: sorted(numbers) for key, numbers in app.numbers().items()} == {
        key: list(range(count)) for key, count in app.written.items()
    }


def test_rows_that_wait_are_not_late_for_their_windows(tmp_path):
    """They wait in a younger partition while hours of event time are read from their parent."""
    app = Growing(tmp_path, LOG, partitions=8)
    operators = [
        {"name": "hours", "from": "in", "window": {"tumbling": "1h", "by": ["k"], "select": "count(*) as n"}},
        {"name": "sent", "from": "hours", "sendTo": "out"},
    ]
    document = app.document(operators=operators, processors=1)
    app.write(*range(8), count=8, at=HOUR)
    app.run(document, lambda summary: summary.streams[0].read == 8)
    app.expand(16)
    app.write(*[0] * BACKLOG, count=8, at=range(HOUR, HOUR + BACKLOG * 1_000, 1_000))
    app.write(*range(8, 16), count=16, at=2 * HOUR)
    app.write(*range(16), count=16, at=20 * HOUR)
    hours = 1 + BACKLOG // 3_600
    app.run(document, lambda summary: app.copied(summary, hours + 7 + 8))
    assert sorted(row["k"] for row in app.rows("out") if row["window_start"][11:13] == "02") == [0, *range(8, 16)]
