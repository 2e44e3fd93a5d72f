"""The partition monitor on streams of a log: what it tells, and when."""

import json
import time
from contextlib import closing

import pytest

from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.create_streams import create_streams, expand_changelog
from streamapp_runtime.driver.partition_monitor import AcceptedGrowth, PartitionMonitor, RefusedChange
from streamapp_runtime.driver.plan_run import plan_new_run, replan_run
from streamapp_runtime.execution_context import local_context
from streamapp_systems.registry import local_systems
from support.growth import Growing

INTERVAL = 30.0
DEADLINE = 60.0


@pytest.fixture
def app(tmp_path):
    return Growing(tmp_path, {"log": {"path": "log.db"}})


def planned(app, **monitor):
    text = json.dumps(app.document(partitionMonitor={"interval": "30s", **monitor}))
    return text, plan_new_run(parse_text(text), local_systems(app.folder), "r1", "here")


def wait_for_change(monitor, now, current):
    """Begin a count at this time and wait for its result."""
    assert monitor.poll(now, current) is None
    deadline = time.monotonic() + DEADLINE
    while monitor.counting and time.monotonic() < deadline:
        if (change := monitor.poll(now, current)) is not None:
            return change
        time.sleep(0.01)
    assert not monitor.counting
    return None


def codes(refused):
    assert isinstance(refused, RefusedChange)
    return [problem.code for problem in refused.problems]


def test_it_counts_once_per_interval(app):
    text, run = planned(app)
    monitor = PartitionMonitor(text, local_context(app.folder), run, now=0.0)
    app.expand(8)
    monitor.poll(INTERVAL - 1, run)
    assert not monitor.counting
    growth = wait_for_change(monitor, INTERVAL, run)
    assert isinstance(growth, AcceptedGrowth)
    assert growth.run.model.version == run.model.version + 1
    assert growth.run.model.streams["in"].partitions == 8
    assert growth.run.model.tasks.keys() == run.model.tasks.keys()
    assert growth.run.model.streams["in"].grown_at == pytest.approx(time.time() * 1_000, abs=60_000)
    monitor.poll(2 * INTERVAL - 1, growth.run)
    assert not monitor.counting
    assert wait_for_change(monitor, 2 * INTERVAL, growth.run) is None


def test_it_never_counts_when_it_is_off(app):
    text, run = planned(app, enabled=False)
    monitor = PartitionMonitor(text, local_context(app.folder), run, now=0.0)
    monitor.poll(1e9, run)
    assert not monitor.counting


def test_a_refusal_is_told_once_and_again_when_it_is_mended(app):
    text, run = planned(app)
    monitor = PartitionMonitor(text, local_context(app.folder), run, now=0.0)
    app.expand(6)
    assert codes(wait_for_change(monitor, 1 * INTERVAL, run)) == ["UnsupportedExpansion"]
    assert wait_for_change(monitor, 2 * INTERVAL, run) is None
    app.expand(7)
    assert codes(wait_for_change(monitor, 3 * INTERVAL, run)) == ["UnsupportedExpansion"]
    app.expand(12)
    growth = wait_for_change(monitor, 4 * INTERVAL, run)
    assert growth.run.model.streams["in"].partitions == 12
    assert not monitor.problems


def test_a_refusal_that_the_run_began_with_is_not_told_again(app):
    text, first = planned(app)
    app.expand(6)
    run = replan_run(parse_text(text), local_systems(app.folder), first.model, 0)
    assert run.model == first.model
    monitor = PartitionMonitor(text, local_context(app.folder), run, now=0.0)
    assert [problem.code for problem in monitor.problems] == ["UnsupportedExpansion"]
    assert wait_for_change(monitor, INTERVAL, run) is None


def test_a_stream_that_is_gone_is_refused(app):
    text, run = planned(app)
    monitor = PartitionMonitor(text, local_context(app.folder), run, now=0.0)
    admin = app.admin()
    admin.delete([app.stream("in")])
    admin.close()
    assert codes(wait_for_change(monitor, INTERVAL, run)) == ["PartitionCountShrunk"]


def test_a_count_that_fails_is_made_up_for_by_the_next(app):
    text, run = planned(app)
    monitor = PartitionMonitor(text, local_context(app.folder), run, now=0.0)
    app.expand(8)
    log = app.folder / "log.db"
    log.rename(app.folder / "away.db")
    log.write_text("something else" * 1_000)
    assert wait_for_change(monitor, 1 * INTERVAL, run) is None
    (app.folder / "away.db").rename(log)
    assert isinstance(wait_for_change(monitor, 2 * INTERVAL, run), AcceptedGrowth)


def test_what_did_not_change_the_run_is_not_planned_again_and_a_growth_after_it_is_found(app):
    text, run = planned(app)
    monitor = PartitionMonitor(text, local_context(app.folder), run, now=0.0)
    create_streams(run, local_systems(app.folder))
    assert "out" not in run.counts
    assert wait_for_change(monitor, 1 * INTERVAL, run) is None
    assert wait_for_change(monitor, 2 * INTERVAL, run) is None
    app.expand(8)
    growth = wait_for_change(monitor, 3 * INTERVAL, run)
    assert growth.run.model.streams["in"].partitions == 8
    assert growth.run.counts["out"] > 0
    assert wait_for_change(monitor, 4 * INTERVAL, growth.run) is None


def test_a_plan_made_from_a_job_model_that_is_not_current_any_more_is_dropped(app):
    text, run = planned(app)
    monitor = PartitionMonitor(text, local_context(app.folder), run, now=0.0)
    app.expand(8)
    current = replan_run(parse_text(text), local_systems(app.folder), run.model, 0)
    monitor.poll(INTERVAL, run)
    while monitor.counting:
        assert monitor.poll(INTERVAL, current) is None


def test_partitions_that_a_bounded_stream_gets_late_hold_nothing_of_it(app):
    document = app.document()
    document["spec"]["streams"]["in"]["bounded"] = True
    parsed = parse_text(json.dumps(document))
    first = plan_new_run(parsed, local_systems(app.folder), "r1", "here")
    app.expand(6)
    again = replan_run(parsed, local_systems(app.folder), first.model, 0)
    assert (again.model, again.refused) == (first.model, ())


def test_the_changelog_gets_a_partition_for_every_task_there_ever_was(app):
    document = app.document(operators=[{"name": "sent", "from": "in", "sendTo": "out"}])
    parsed = parse_text(json.dumps(document))
    first = plan_new_run(parsed, local_systems(app.folder), "r1", "here")
    create_streams(first, local_systems(app.folder))
    app.expand(7)
    grown = replan_run(parsed, local_systems(app.folder), first.model, 0)
    assert len(grown.model.tasks) == 7
    expand_changelog(grown, local_systems(app.folder))
    expand_changelog(grown, local_systems(app.folder))
    expand_changelog(first, local_systems(app.folder))
    create_streams(grown, local_systems(app.folder))


def test_a_run_may_begin_while_its_input_grows(app):
    text, run = planned(app)
    systems = local_systems(app.folder)
    app.expand(8)
    create_streams(run, systems)
    with closing(app.admin()) as admin:
        assert admin.partitions([app.stream("in"), app.stream("out")]) == {"in": 8, "out": 3}
    monitor = PartitionMonitor(text, local_context(app.folder), run, now=0.0)
    assert isinstance(wait_for_change(monitor, INTERVAL, run), AcceptedGrowth)
