"""The partition monitor on streams of a log: what it tells, and when."""

import json
import time

import pytest

from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.partition_monitor import Growth, PartitionMonitor, Refused
from streamapp_runtime.driver.prepare import expand_changelog, make_streams, plan_again, plan_run
from support.growth import Growing

INTERVAL = 30.0
DEADLINE = 60.0


@pytest.fixture
def app(tmp_path):
    return Growing(tmp_path, {"log": {"path": "log.db"}})


def prepare(app, **monitor):
    text = json.dumps(app.document(partitionMonitor={"interval": "30s", **monitor}))
    return text, plan_run(parse_text(text), app.folder, "r1", "here")


def news(monitor, now, current):
    """Begin a look at this time and wait for what it tells."""
    assert monitor.look(now, current) is None
    deadline = time.monotonic() + DEADLINE
    while monitor.looking and time.monotonic() < deadline:
        if (told := monitor.look(now, current)) is not None:
            return told
        time.sleep(0.01)
    assert not monitor.looking
    return None


def codes(refused):
    assert isinstance(refused, Refused)
    return [problem.code for problem in refused.problems]


def test_it_looks_once_per_interval(app):
    text, prepared = prepare(app)
    monitor = PartitionMonitor(text, app.folder, prepared, now=0.0)
    app.expand(8)
    monitor.look(INTERVAL - 1, prepared)
    assert not monitor.looking
    growth = news(monitor, INTERVAL, prepared)
    assert isinstance(growth, Growth)
    assert growth.prepared.model.version == prepared.model.version + 1
    assert growth.prepared.model.streams["in"].partitions == 8
    assert growth.prepared.model.tasks.keys() == prepared.model.tasks.keys()
    assert growth.prepared.model.streams["in"].grown_at == pytest.approx(time.time() * 1_000, abs=60_000)
    monitor.look(2 * INTERVAL - 1, growth.prepared)
    assert not monitor.looking
    assert news(monitor, 2 * INTERVAL, growth.prepared) is None


def test_it_never_looks_when_it_is_off(app):
    text, prepared = prepare(app, enabled=False)
    monitor = PartitionMonitor(text, app.folder, prepared, now=0.0)
    monitor.look(1e9, prepared)
    assert not monitor.looking


def test_a_refusal_is_told_once_and_again_when_it_is_mended(app):
    text, prepared = prepare(app)
    monitor = PartitionMonitor(text, app.folder, prepared, now=0.0)
    app.expand(6)
    assert codes(news(monitor, 1 * INTERVAL, prepared)) == ["UnsupportedExpansion"]
    assert news(monitor, 2 * INTERVAL, prepared) is None
    app.expand(7)
    assert codes(news(monitor, 3 * INTERVAL, prepared)) == ["UnsupportedExpansion"]
    app.expand(12)
    growth = news(monitor, 4 * INTERVAL, prepared)
    assert growth.prepared.model.streams["in"].partitions == 12
    assert not monitor.problems


def test_a_refusal_that_the_run_began_with_is_not_told_again(app):
    text, first = prepare(app)
    app.expand(6)
    prepared = plan_again(parse_text(text), app.folder, first.model, 0)
    assert prepared.model == first.model
    monitor = PartitionMonitor(text, app.folder, prepared, now=0.0)
    assert [problem.code for problem in monitor.problems] == ["UnsupportedExpansion"]
    assert news(monitor, INTERVAL, prepared) is None


def test_a_stream_that_is_gone_is_refused(app):
    text, prepared = prepare(app)
    monitor = PartitionMonitor(text, app.folder, prepared, now=0.0)
    admin = app.admin()
    admin.delete([app.stream("in")])
    admin.close()
    assert codes(news(monitor, INTERVAL, prepared)) == ["PartitionCountShrunk"]


def test_a_look_that_fails_is_made_up_for_by_the_next(app):
    text, prepared = prepare(app)
    monitor = PartitionMonitor(text, app.folder, prepared, now=0.0)
    app.expand(8)
    log = app.folder / "log.db"
    log.rename(app.folder / "away.db")
    log.write_text("something else" * 1_000)
    assert news(monitor, 1 * INTERVAL, prepared) is None
    (app.folder / "away.db").rename(log)
    assert isinstance(news(monitor, 2 * INTERVAL, prepared), Growth)


def test_a_plan_made_from_a_job_model_that_is_not_current_any_more_is_dropped(app):
    text, prepared = prepare(app)
    monitor = PartitionMonitor(text, app.folder, prepared, now=0.0)
    app.expand(8)
    current = plan_again(parse_text(text), app.folder, prepared.model, 0)
    monitor.look(INTERVAL, prepared)
    while monitor.looking:
        assert monitor.look(INTERVAL, current) is None


def test_partitions_that_a_bounded_stream_gets_late_hold_nothing_of_it(app):
    document = app.document()
    document["spec"]["streams"]["in"]["bounded"] = True
    parsed = parse_text(json.dumps(document))
    first = plan_run(parsed, app.folder, "r1", "here")
    app.expand(6)
    again = plan_again(parsed, app.folder, first.model, 0)
    assert (again.model, again.refused) == (first.model, ())


def test_the_changelog_gets_a_partition_for_every_task_there_ever_was(app):
    document = app.document(operators=[{"name": "sent", "from": "in", "sendTo": "out"}])
    parsed = parse_text(json.dumps(document))
    first = plan_run(parsed, app.folder, "r1", "here")
    make_streams(first, app.folder)
    app.expand(7)
    grown = plan_again(parsed, app.folder, first.model, 0)
    assert len(grown.model.tasks) == 7
    expand_changelog(grown, app.folder)
    expand_changelog(grown, app.folder)
    expand_changelog(first, app.folder)
    make_streams(grown, app.folder)
