"""What integration tests share: a real Kafka broker, started when the first test asks for it."""

import os

import pytest
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache
from tools.kafka.prepare import prepare

from support.kafka import PATIENT

os.environ.setdefault("STREAMAPP_CLASS_ARCHIVES", "")  # no Spark starts early but where a test is of that
pytest.register_assert_rewrite("conformance")


@pytest.fixture(scope="session")
def kafka():
    """A broker on the loopback interface for the whole run: tests share it, so each names its topics uniquely."""
    with Broker(prepare(default_cache()), settings=PATIENT) as broker:
        yield broker
