"""What people read when a Kafka client has problems: the cause, without the client's own noise, and what to check."""

import logging

import pytest
from confluent_kafka import KafkaError

from streamapp_systems.kafka.client_config import Cluster
from streamapp_systems.kafka.kafka_errors import TRANSIENT, ClientProblems
from streamapp_systems.protocols import StreamSystemError, Unavailable

REFUSED = KafkaError(
    KafkaError._TRANSPORT, "b:1/bootstrap: Connect failed: Connection refused (after 0ms in state CONNECT)"
)
DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
TIMED_OUT = KafkaError(KafkaError._TIMED_OUT, "Failed while waiting for controller: Local: Timed out")
LOGIN = KafkaError(
    KafkaError._AUTHENTICATION,
    "b:1: SASL error: invalid credentials (after 3ms in state AUTH_REQ, 3 identical error(s) suppressed)",
)


@pytest.fixture
def problems() -> ClientProblems:
    return ClientProblems(Cluster(name="k", bootstrap_servers="b:1"))


def test_of_a_timeout_the_cause_is_told_and_not_the_client_s_state(problems: ClientProblems) -> None:
    problems.note(REFUSED)
    problems.note(DOWN)
    explained = problems.explain("topic t can't be described", TIMED_OUT)
    assert str(explained) == (
        "Kafka k (b:1): topic t can't be described: b:1/bootstrap: Connect failed: Connection refused. Check that its "
        "brokers run, that bootstrapServers is right (and the addresses the brokers advertise), and security.protocol"
    )
    assert isinstance(explained, Unavailable)


def test_a_refused_login_is_told_before_all_else(problems: ClientProblems) -> None:
    for error in (DOWN, REFUSED, LOGIN):
        problems.note(error)
    explained = str(problems.explain("it can't be opened", TIMED_OUT))
    assert "it can't be opened: b:1: SASL error: invalid credentials. Check auth (" in explained


def test_only_a_client_that_never_got_through_may_lack_tls_or_a_login(problems: ClientProblems) -> None:
    problems.note(DOWN)
    assert "where brokers want TLS or a login" in str(problems.explain("x", TIMED_OUT))
    problems.clear()
    problems.note(DOWN)
    assert "TLS or a login" not in str(problems.explain("x", TIMED_OUT))


def test_what_is_no_absence_is_no_reason_to_wait(problems: ClientProblems) -> None:
    explained = problems.explain("topic t can't be created", KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    assert (
        "TOPIC_AUTHORIZATION_FAILED). User:ANONYMOUS needs a right on the topic: have it granted (docs/kafka.md"
        in str(explained)
    )
    assert isinstance(explained, StreamSystemError)
    assert not isinstance(explained, Unavailable)


@pytest.mark.parametrize("code", [KafkaError._DESTROY_BROKER, KafkaError._UNKNOWN_BROKER, KafkaError._TIMED_OUT_QUEUE])
def test_a_request_that_was_under_way_when_its_broker_left_the_cluster_is_made_again(
    problems: ClientProblems, code: int
) -> None:
    assert code in TRANSIENT
    assert isinstance(problems.explain("topic t can't be described", KafkaError(code)), Unavailable)


def test_each_cause_is_logged_once_and_that_all_brokers_are_down_never(
    problems: ClientProblems, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "streamapp.kafka"):
        for error in (DOWN, REFUSED, DOWN, REFUSED):
            problems.note(error)
    assert caplog.messages == ["Kafka k (b:1): b:1/bootstrap: Connect failed: Connection refused"]
