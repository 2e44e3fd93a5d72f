"""The brokers of all apps: each namespace's are asked by itself, what fails is said, what nobody names is forgotten."""

import threading
from collections import Counter

import pytest
from structlog.testing import capture_logs

from streamapp_operator.observe.broker_requests import BrokerAnswer, CountPartitions
from streamapp_operator.observe.brokers import Brokers
from streamapp_operator.observe.resource_views import parse_app_resource
from streamapp_systems.protocols import StreamSystemError
from support import numbered
from support.waiting import eventually

TOPICS = {"numbers": 4}


class Asked:
    """Brokers that answer requests, but not those at addresses in `silent`."""

    def __init__(self):
        self.requests = []
        self.counts = {}
        self.error = None
        self.silent = {}

    def ask(self, namespace, request):
        self.requests.append((namespace, request))
        if request.cluster.bootstrap_servers in self.silent:
            self.silent[request.cluster.bootstrap_servers].wait(60)
        if self.error is not None:
            raise self.error
        assert isinstance(request, CountPartitions)
        return BrokerAnswer(counts=dict.fromkeys(request.topics, 4))


class World:
    def __init__(self):
        self.asked = Asked()
        self.secrets = {}
        self.changed = Counter()
        self.brokers = Brokers(self.asked.ask, self.read_secret, self.note, debounce=10.0)

    def read_secret(self, namespace, name):
        return self.secrets.get((namespace, name), {})

    def note(self, key):
        self.changed[key] += 1

    def read(self, resource):
        return self.brokers.read_counts(resource)

    def known(self, resource):
        return eventually(lambda: self.read(resource).known is not None)

    def error(self, resource):
        assert eventually(lambda: self.read(resource).error is not None)
        return self.read(resource).error


@pytest.fixture
def world():
    world = World()
    yield world
    for event in world.asked.silent.values():
        event.set()
    world.brokers.close()


def app(name="shop", namespace="demo", servers="b:9092", **kafka):
    document = numbered.app({"kafka": {"bootstrapServers": servers, **kafka}}, name)
    document["metadata"] |= {"namespace": namespace, "uid": f"u-{name}", "generation": 1, "resourceVersion": "1"}
    return parse_app_resource(document)


def test_counts_are_known_after_a_request(world):
    assert world.read(app()).known is None
    assert world.known(app())
    assert world.changed[app().key] == 1


def test_apps_of_a_namespace_share_requests_and_those_of_others_do_not(world):
    apps = [app("a"), app("b"), app("a", "other")]
    for resource in apps:
        world.read(resource)
    assert all(world.known(resource) for resource in apps)
    assert world.brokers.count_monitors() == len({resource.key.namespace for resource in apps})
    assert {namespace for namespace, _ in world.asked.requests} == {"demo", "other"}


def test_edited_settings_leave_nothing_behind(world):
    for number in range(20):
        assert world.known(app(config={"client.id": f"c{number}"}))
    assert world.brokers.count_monitors() == 1
    assert threading.active_count() < 20
    world.brokers.forget(app().key)
    assert world.brokers.count_monitors() == 0


def test_many_silent_brokers_of_a_namespace_delay_no_other(world):
    for number in range(12):
        world.asked.silent[f"silent-{number}:9092"] = threading.Event()
        world.read(app(f"app-{number}", "hostile", f"silent-{number}:9092"))
    assert eventually(lambda: any(namespace == "hostile" for namespace, _ in world.asked.requests))
    assert world.known(app("honest", "honest"))


AUTH = {"secretName": "login", "mechanism": "PLAIN"}


def test_a_binary_item_of_a_login_is_told_and_all_goes_on_when_it_is_text(world):
    login = world.secrets["demo", "login"] = {"username": b"ann", "password": b"\xff\xfe"}
    assert "Secret login in namespace demo: password is no text" in world.error(app(auth=AUTH))
    login["password"] = b"text"
    assert world.known(app("other", auth={**AUTH, "mechanism": "SCRAM-SHA-256"}))


def test_binary_items_that_nobody_reads_do_not_matter(world):
    world.secrets["demo", "login"] = {"username": b"ann", "password": b"p", "user.p12": b"\xff\x00"}
    assert world.known(app(auth=AUTH))


@pytest.mark.parametrize("setting", ["ssl.ca.location", "ssl.key.location"])
def test_settings_that_name_files_are_told_and_nobody_is_asked(world, setting):
    error = world.error(app(config={"security.protocol": "ssl", setting: "/proc/self/fd/1"}))
    assert f"spec.systems.hub.kafka.config.{setting}: on Kubernetes no setting names a file" in error
    assert world.asked.requests == []


def test_settings_that_fill_the_operators_log_or_memory_are_not_passed_on(world):
    assert world.known(app(config={"debug": "all", "receive.message.max.bytes": "2147483647", "client.id": "me"}))
    ((_, request),) = world.asked.requests
    assert request.cluster.settings == {"client.id": "me", "receive.message.max.bytes": str(16 << 20)}


def test_brokers_that_do_not_answer_are_told_and_asked_again(world):
    world.asked.error = StreamSystemError("nobody answers")
    assert world.error(app()) == "nobody answers"
    world.asked.error = None
    assert world.known(app())


def test_a_bug_in_a_request_is_told_and_ends_no_thread(world):
    world.asked.error = ZeroDivisionError("a bug")
    with capture_logs() as logs:
        for number in range(7):
            assert "ZeroDivisionError('a bug')" in world.error(app(f"app-{number}", f"ns-{number}"))
        world.asked.error = None
        assert world.known(app("last", "last"))
    assert {entry["event"] for entry in logs} == {"this is a bug; counting again"}
