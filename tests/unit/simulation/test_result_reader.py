"""The results of a simulation are those that are committed, in their order, however often they are read."""

from simulation.kafka_requests import (
    CreatePartitions,
    CreateTopic,
    KafkaRecord,
    ProducerIdentity,
    TopicPartition,
    TopicSettings,
)
from simulation.result_reader import ResultReader
from simulation.simulated_topics import SimulatedTopics

FIRST, OTHER = ProducerIdentity(1, 0), ProducerIdentity(2, 0)


def test_each_result_is_read_once_when_all_before_it_is_decided():
    topics = SimulatedTopics()
    reader = ResultReader(["passed", "totals"], topics)
    assert reader.read() == {"passed": [], "totals": []}
    topics.create(CreateTopic(topic="app.passed", partitions=1, settings=TopicSettings()))
    log = topics.log(TopicPartition("app.passed", 0))
    log.append(FIRST, 0, (KafkaRecord(0, b"k", b'{"n": 1}'),), now=0)
    log.append(OTHER, 0, (KafkaRecord(0, b"k", b'{"n": 2}'), KafkaRecord(0, b"k", None)), now=0)
    log.append_marker(OTHER, commit=True, now=0)
    assert reader.read()["passed"] == [[]]
    log.append_marker(FIRST, commit=False, now=0)
    assert reader.read()["passed"] == [[{"n": 2}]]
    log.append(FIRST, 1, (KafkaRecord(0, b"k", b'{"n": 3}'),), now=0)
    log.append_marker(FIRST, commit=True, now=0)
    topics.expand(CreatePartitions(topic="app.passed", partitions=2))
    for _ in range(2):
        assert reader.read() == {"passed": [[{"n": 2}, {"n": 3}], []], "totals": []}
