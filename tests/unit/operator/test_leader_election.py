"""The election of a leader among operators whose clocks differ, that stop for a while, and can't reach the server."""

import signal
import threading
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_operator.observe.resource_views import AppKey
from streamapp_operator.process.leader_election import DURATION_SECONDS, RETRY_SECONDS, VALID_SECONDS, LeaderElection
from streamapp_operator.process.leader_writes import LeaderWrites
from streamapp_operator.process.leadership import Leadership, NotLeaderError
from streamapp_systems.kubernetes.kubernetes_api import Kind, RequestRefusedError, ServerUnavailableError
from support.kubernetes_api import MemoryCluster
from support.operated import Operated
from support.waiting import eventually

LEASE = ("home", "operator")
NOW = datetime(2025, 1, 1, tzinfo=UTC)


class Reach:
    """The API server as one candidate reaches it, or does not: before a request, or after it was carried out."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.cut = ""

    def __getattr__(self, name):
        def request(*arguments):
            if self.cut == "requests":
                raise ServerUnavailableError("no route")
            answer = getattr(self.cluster, name)(*arguments)
            if self.cut == "answers":
                raise ServerUnavailableError("no answer")
            return answer

        return request


class Candidates:
    """Candidates whose clocks begin at different times; time passes for all of them when a test says so."""

    def __init__(self, number=2):
        self.cluster = MemoryCluster()
        self.time = 0.0
        self.reach = [Reach(self.cluster) for _ in range(number)]
        self.all = [
            LeaderElection(reach, LEASE, f"candidate-{n}", lambda n=n: self.time + 1_000 * n, lambda: NOW)
            for n, reach in enumerate(self.reach)
        ]

    def leaders(self):
        return [n for n, candidate in enumerate(self.all) if candidate.is_leader()]

    def ask(self, n):
        return self.all[n].wait(Once())

    def holder(self):
        return self.cluster.get(Kind.LEASE, *LEASE)["spec"]["holderIdentity"]


class Once(threading.Event):
    """Stops after one try."""

    def wait(self, timeout=None):
        self.set()
        return True


@pytest.fixture
def candidates():
    return Candidates()


def test_the_first_one_leads_and_the_others_stand_by(candidates):
    assert (candidates.ask(0), candidates.ask(1)) == (True, False)
    assert (candidates.leaders(), candidates.holder()) == ([0], "candidate-0")


def test_a_leader_that_renews_stays_one(candidates):
    candidates.ask(0)
    for _ in range(20):
        candidates.time += RETRY_SECONDS
        assert (candidates.ask(0), candidates.ask(1)) == (True, False)


def test_a_dead_leader_is_replaced_when_its_lease_is_over(candidates):
    candidates.ask(0)
    candidates.ask(1)
    candidates.time += VALID_SECONDS
    assert (candidates.ask(1), candidates.leaders()) == (False, [])
    candidates.time += DURATION_SECONDS - VALID_SECONDS
    assert (candidates.ask(1), candidates.leaders()) == (True, [1])
    assert candidates.cluster.get(Kind.LEASE, *LEASE)["spec"]["leaseTransitions"] == 1


def test_a_released_lease_is_taken_at_once_and_its_old_holder_acts_no_more(candidates):
    candidates.ask(0)
    candidates.all[0].release()
    assert candidates.leaders() == []
    assert (candidates.ask(1), candidates.leaders()) == (True, [1])


def test_one_that_has_lost_the_lease_does_not_release_that_of_another(candidates):
    candidates.ask(0)
    candidates.ask(1)
    candidates.time += DURATION_SECONDS
    candidates.ask(1)
    candidates.all[0].release()
    assert candidates.holder() == "candidate-1"


def test_a_leader_that_can_not_renew_ends_its_term_before_the_lease_is_over(candidates):
    candidates.ask(0)
    candidates.reach[0].cut = "requests"

    class Pass(threading.Event):
        def wait(self, timeout=None):
            candidates.time += timeout
            return False

    candidates.all[0].keep(Pass())
    assert candidates.leaders() == []
    assert candidates.time < DURATION_SECONDS


def test_a_lease_that_somebody_deleted_is_taken_when_its_holder_has_noticed(candidates):
    candidates.ask(0)
    candidates.ask(1)
    candidates.cluster.remove(Kind.LEASE, *LEASE)
    assert (candidates.ask(1), candidates.leaders()) == (False, [0])
    assert candidates.ask(0)
    candidates.cluster.remove(Kind.LEASE, *LEASE)
    candidates.time += DURATION_SECONDS
    assert (candidates.ask(1), candidates.leaders()) == (True, [1])


def test_a_leader_that_sees_another_one_in_its_lease_acts_no_more(candidates):
    candidates.ask(0)
    lease = candidates.cluster.get(Kind.LEASE, *LEASE)
    candidates.cluster.replace(Kind.LEASE, {**lease, "spec": {**lease["spec"], "holderIdentity": "somebody"}})
    assert (candidates.ask(0), candidates.leaders()) == (False, [])


def test_apps_that_a_candidate_knows_are_due_when_it_begins_to_act():
    operated = Operated()
    operated.apply()
    controller = operated.controller
    controller.enqueue(AppKey(namespace="default", name="shop"))
    assert controller.measure_stall() == 0
    assert operated.metrics.registry.get_sample_value("streamapp_operator_workqueue_depth") == 0
    controller.start()
    assert eventually(lambda: operated.pods() == ["shop-driver-1"])
    controller.stop(60)


def test_one_that_has_no_right_to_the_lease_ends_with_an_error(signals):
    class Forbidden:
        def get(self, *_):
            raise RequestRefusedError("leases is forbidden")

    election = LeaderElection(Forbidden(), LEASE, "one", lambda: 0.0, lambda: NOW)
    leadership = Leadership(election, lambda _: None)
    with leadership.acting(lambda: None, lambda: None):
        assert eventually(lambda: signals == [signal.SIGTERM])
    assert leadership.failed


@pytest.fixture
def signals():
    """The signals that this process gets meanwhile, instead of ending."""
    received = []
    before = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    yield received
    signal.signal(signal.SIGTERM, before)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from(["ask", "ask", "ask", "release", "requests", "answers", "mend"]),
            st.floats(0, 6),
        ),
        max_size=60,
    )
)
def test_there_are_never_two_leaders(steps):
    candidates = Candidates(3)
    for n, step, seconds in steps:
        if step == "ask":
            candidates.ask(n)
        elif step == "release":
            candidates.all[n].release()
        else:
            candidates.reach[n].cut = "" if step == "mend" else step
        assert len(candidates.leaders()) <= 1
        candidates.time += seconds
        assert len(candidates.leaders()) <= 1


def test_only_the_leader_writes(candidates):
    leadership = Leadership(candidates.all[0], lambda _: None)
    writes = LeaderWrites(candidates.cluster, leadership.check)
    body = {"metadata": {"namespace": "a", "name": "b"}}
    for write in (
        lambda: writes.create(Kind.SERVICE, body),
        lambda: writes.replace(Kind.SERVICE, body),
        lambda: writes.patch(Kind.SERVICE, "a", "b", {}),
        lambda: writes.delete(Kind.SERVICE, "a", "b"),
    ):
        with pytest.raises(NotLeaderError):
            write()
    assert writes.list(Kind.SERVICE, "a") == []
    candidates.ask(0)
    assert writes.create(Kind.SERVICE, body)["metadata"]["uid"]
    assert writes.get(Kind.SERVICE, "a", "b") is not None
