"""The start of an epoch on Kubernetes: what an edit adds to a run is created, what was there stays."""

import json
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from streamapp_core.deployment.app_record import Launch, LaunchCause
from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.metadata_store import InMemoryMetadataStore
from streamapp_core.plan.planner import plan
from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_runtime.driver.run_record import load_record
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.kubernetes.epoch_start import start_epoch
from streamapp_runtime.kubernetes.job_model_follower import LaunchedApp, plan_launched
from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner

EVENTS = {"system": "log", "format": "json", "schema": "k string", "bounded": True}
COUNTS = {"events": 2, "more": 3, "out": 1}


class Run:
    """A run of an app in a log, begun epoch after epoch, perhaps edited in between."""

    def __init__(self, folder):
        self.folder = folder
        self.admin = LogAdmin(folder / "log.db")
        self._store = InMemoryMetadataStore()
        self.model = None
        self.launched = None
        self._epoch = 0

    def begin(self, streams, operators, run_id="r1", **more):
        """Begin an epoch; give its record, as the store has it."""
        self._epoch += 1
        spec = {"systems": {"log": {"log": {"path": "log.db"}}}, "defaultSystem": "log", "streams": streams}
        text = json.dumps(
            {
                "apiVersion": "streamapp.dev/v1alpha1",
                "kind": "StreamApp",
                "metadata": {"name": "app"},
                "spec": spec | {"operators": operators, "processors": {"count": 1}, **more},
            }
        )
        counts = {name: COUNTS[name] for name in streams}
        launch = Launch(
            app="text",
            run_id=run_id,
            counts=counts,
            epoch=self._epoch,
            processors=1,
            executor_template={},
            cause=LaunchCause.EDITED,
            at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        if self.model is not None and self.model.run_id != run_id:
            self.model = None
        planned = plan(parse_text(text), counts, self.model, run_id=run_id).plan
        self.model = build_job_model(planned, self.model, {"0": "here"})
        self.launched = LaunchedApp(launch=launch, text=text)
        start_epoch(self.launched, plan_launched(self.launched, self.model), self._store, local_context(self.folder))
        return load_record(self._store)

    def partitions(self, *names):
        """Tell the partitions of those streams that are there."""
        return self.admin.partitions([stream(name) for name in names])


def stream(name):
    return StreamDescriptor(name=name, system="log", address=name, format=StreamFormat.JSON)


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path)
    with closing(run.admin):
        yield run


def test_an_edit_gets_its_streams_and_what_was_known_of_the_others_stays(run):
    run.admin.create({stream("events"): 2, stream("more"): 3})
    streams = {"events": EVENTS, "out": {"system": "log", "format": "json"}}
    first = run.begin(streams, [{"name": "sent", "from": "events", "sendTo": "out"}])
    assert first.ends == {"events": {0: 0, 1: 0}}

    with closing(
        LogProducer(run.folder / "log.db", [stream("events")], TransactionOwner(id="somebody", epoch=1))
    ) as producer:
        producer.send(Ssp("log", "events", 0), b'{"k": "a"}', timestamp=1)
        producer.commit()
    run.admin.expand(stream("out"), 2)
    edited = [
        {"name": "both", "from": ["events", "more"], "merge": {}},
        {"name": "by", "from": "both", "partitionBy": {"key": "k"}},
        {"name": "sent", "from": "by", "sendTo": "out"},
    ]
    second = run.begin(streams | {"more": EVENTS}, edited)
    (by,) = set(second.made["log"]) - set(first.made["log"])
    assert run.partitions(by, "more", "out") == {by: 3, "more": 3, "out": 2}
    assert second.ends == {"events": {0: 0, 1: 0}, "more": {0: 0, 1: 0, 2: 0}}
    assert second.prepared


def test_an_image_of_an_earlier_release_than_the_operator_says_so(run):
    """To it, what a later release has added to the spec is a field or an operator that it does not know."""
    run.admin.create({stream("events"): 2})
    streams = {"events": EVENTS, "out": {"system": "log", "format": "json"}}
    run.begin(streams, [{"name": "sent", "from": "events", "sendTo": "out"}])
    document = json.loads(run.launched.text)
    document["spec"]["later"] = {}
    with pytest.raises(PlanRefused, match=r"of another release\. Set `image`") as refused:
        plan_launched(replace(run.launched, text=json.dumps(document)), run.model)
    assert [problem.path for problem in refused.value.problems] == ["spec.later"]


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
def test_a_new_run_says_what_earlier_ones_have_left(run, policy):
    run.admin.create({stream("events"): 2})
    streams = {"events": EVENTS, "out": {"system": "log", "format": "json"}}
    operators = [
        {"name": "by", "from": "events", "partitionBy": {"key": "k"}},
        {"name": "sent", "from": "by", "sendTo": "out"},
    ]
    first = run.begin(streams, operators, deletionPolicy=policy)
    assert not first.notices
    owner = TransactionOwner(id="somebody", epoch=1)
    with closing(LogProducer(run.folder / "log.db", [stream("out")], owner)) as producer:
        producer.send(Ssp("log", "out", 0), b'{"k": "a"}', timestamp=1)
        producer.commit()
    (notice,) = run.begin(streams, operators, run_id="r2", deletionPolicy=policy).notices
    made = ", ".join(sorted(first.made["log"]))
    assert notice.reason is NoticeReason.NEW_RUN
    assert notice.message == (
        "run r2 begins from the start of its inputs; the streams of earlier runs "
        f"{'are deleted' if policy == 'Delete' else 'stay'}: {made}; output out (log: out) keeps 1 record of earlier "
        "runs or other writers, and the results of this run follow them"
    )
    assert not run.begin(streams, operators, run_id="r2", deletionPolicy=policy).notices
