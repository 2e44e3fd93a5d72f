"""A transaction that the brokers lost track of, through no fault of a person's, is no reason to end a run."""

import pytest
from confluent_kafka import KafkaError

from streamapp_systems.kafka.client_config import Cluster
from streamapp_systems.kafka.kafka_errors import ClientProblems
from streamapp_systems.protocols import Unavailable


@pytest.mark.parametrize(
    "code, tried_again",
    [
        (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, True),
        (KafkaError.UNKNOWN_PRODUCER_ID, True),
        (KafkaError.INVALID_TXN_STATE, True),
        (KafkaError.TRANSACTION_ABORTABLE, True),
        (KafkaError._MSG_TIMED_OUT, True),
        (KafkaError._INCONSISTENT, True),
        (KafkaError.MSG_SIZE_TOO_LARGE, False),
        (KafkaError.INVALID_RECORD, False),
        (KafkaError.INVALID_TIMESTAMP, False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, False),
    ],
)
def test_what_a_person_must_mend_is_told_from_what_is_done_again(code: int, tried_again: bool) -> None:
    problems = ClientProblems(Cluster(name="k", bootstrap_servers="b:1"))
    explained = problems.explain("the transaction failed", KafkaError(code))
    assert isinstance(explained, Unavailable) is tried_again


UNFORESEEN = (KafkaError._FAIL, KafkaError.DUPLICATE_SEQUENCE_NUMBER, KafkaError.STALE_BROKER_EPOCH, 9_999)
PERMANENT = (
    KafkaError._FENCED,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_TIMESTAMP,
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.UNSUPPORTED_VERSION,
)


@pytest.mark.parametrize("code", (*UNFORESEEN, *PERMANENT))
@pytest.mark.parametrize("flag", ["retriable", "txn_requires_abort"])
def test_what_can_be_aborted_or_repeated_is_done_again_unless_it_is_known_to_be_permanent(code: int, flag: str) -> None:
    problems = ClientProblems(Cluster(name="k", bootstrap_servers="b:1"))
    error = KafkaError(code, "refused", retriable=flag == "retriable", txn_requires_abort=flag == "txn_requires_abort")
    assert isinstance(problems.explain("the transaction failed", error), Unavailable) is (code in UNFORESEEN)
