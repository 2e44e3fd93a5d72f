"""Producers outside of a simulated app: what they write is never committed, and holds back what follows it."""

from random import Random

import pytest

from simulation.deterministic_scheduler import Scheduler
from simulation.faulty_network import BrokerService
from simulation.kafka_requests import CreateTopic, TopicSettings
from simulation.numbered_app import NAME, AppShape
from simulation.outside_producer import OutsideProducer
from simulation.simulated_process import Machine, SimulatedProcess

SECONDS = 25.0
COUNTS = {"in": 4, "names": 2}


@pytest.mark.parametrize("seed", range(5))
def test_what_it_writes_holds_back_what_follows_for_a_while_and_is_never_seen(seed):
    random = Random(seed)
    scheduler = Scheduler(random, longest=500.0, most_turns=100_000)
    service = BrokerService(scheduler)
    for name, count in COUNTS.items():
        service.handle(CreateTopic(topic=f"{NAME}.{name}", partitions=count, settings=TopicSettings()))
    logs = [log for name in COUNTS for log in service.broker.topics.logs_of(f"{NAME}.{name}")]
    process = SimulatedProcess("outside", Machine("elsewhere"), scheduler)
    producer = OutsideProducer(AppShape.of(random), service, process, random)
    held_back = set()

    def look():
        held_back.update(number for number, log in enumerate(logs) if log.last_stable_offset < log.high_watermark)
        scheduler.at(scheduler.now + 0.1, look)

    scheduler.at(0.0, look)
    scheduler.start("outside", lambda: producer.run(COUNTS, SECONDS), process)
    scheduler.at(200.0, scheduler.stop)
    scheduler.run()
    assert held_back
    for log in logs:
        assert log.last_stable_offset == log.high_watermark
        assert log.read(0, 1_000, read_committed=True).records == ()
