"""What integration tests share: a real Kafka broker, started when the first test asks for it."""

import pytest
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache
from tools.kafka.prepare import prepare

from support.kafka import PATIENT

pytest.register_assert_rewrite("conformance")


@pytest.fixture(scope="session")
def kafka():
    """A broker on the loopback interface for the whole run: tests share it, so each names its topics uniquely."""
    with Broker(prepare(default_cache()), settings=PATIENT) as broker:
        yield broker
