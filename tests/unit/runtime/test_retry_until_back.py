"""The last call of a driver, retried while a system is away."""

import logging

import pytest

from streamapp_runtime.driver.retry_tracker import retry_until_back
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import SystemAway
from streamapp_systems.clock import Clock
from streamapp_systems.protocols import Unavailable


class Broker:
    """Answers after so many calls; time passes only while somebody waits."""

    def __init__(self, away):
        self.now, self.calls, self._away = 0.0, 0, away

    def call(self):
        self.calls += 1
        if self.calls <= self._away:
            raise Unavailable("no broker")

    def wait(self, seconds):
        self.now += seconds


def last_call(broker):
    clock = Clock(monotonic=lambda: broker.now, sleep=broker.wait, time_of_day=lambda: 0)
    retry_until_back(broker.call, Timeouts(away=20.0), clock)


@pytest.mark.parametrize("away", [0, 1, 5])
def test_the_last_call_is_made_until_it_is_answered_and_a_wait_is_logged_once(away, caplog):
    broker = Broker(away)
    with caplog.at_level(logging.WARNING):
        last_call(broker)
    assert broker.calls == away + 1
    assert [record.message for record in caplog.records] == ["the driver waits for up to 20 s: no broker"] * min(
        away, 1
    )


def test_a_broker_that_stays_away_ends_the_wait_with_the_reason():
    broker = Broker(away=1_000)
    with pytest.raises(SystemAway, match=r"the driver has waited for .* in vain: no broker"):
        last_call(broker)
    assert 20.0 <= broker.now < 40.0
