"""Calls of a driver's start and end while the API server or a system is away."""

from concurrent.futures import Future

import pytest

from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import Superseded, SystemAway
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.kubernetes.api_server_calls import ApiServerOutages
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth
from streamapp_runtime.kubernetes.outage_waits import OutageWaits
from streamapp_systems.clock import Clock
from streamapp_systems.kubernetes.kubernetes_api import ServerUnavailableError
from streamapp_systems.protocols import CommitUnknown, Unavailable

HOUR = 3600.0


class World:
    """A clock, threads whose calls take a minute, and how long the driver seemed dead at most."""

    def __init__(self):
        self.now, self.called = 0.0, 0
        self.warnings = []
        self.health = DriverHealth(lambda: self.now)
        clock = Clock(monotonic=lambda: self.now, sleep=self._sleep, time_of_day=lambda: 0)
        context = ExecutionContext(systems=None, clock=clock, threads=self, random=None, boot_id="")
        outages = ApiServerOutages(self.warnings.append, clock.monotonic)
        self.waits = OutageWaits(outages, self.health, context, Timeouts(away=300.0))

    def start(self, _, function):
        self._under_way, self._left = function, 60
        return Future()

    def wait(self, futures, seconds, *, first=False):
        self._sleep(seconds)
        self._left -= seconds
        if self._left <= 0:
            try:
                futures[0].set_result(self._under_way())
            except Exception as error:  # noqa: BLE001 - whoever waits decides
                futures[0].set_exception(error)

    def _sleep(self, seconds):
        self.now += seconds
        assert self.health.alive

    def answered(self, error, until):
        def call():
            self.called += 1
            if self.now < until:
                raise error
            return "the answer"

        return self.waits.call("the start of the driver", call)


@pytest.fixture
def world():
    return World()


def test_the_api_server_is_waited_for_without_a_limit_and_the_driver_is_alive(world):
    assert world.answered(ServerUnavailableError("connection refused"), HOUR) == "the answer"
    waits, continues = world.warnings
    assert waits == "the start of the driver waits for the API server: connection refused"
    assert continues.startswith("the start of the driver continues after")
    assert HOUR < world.now < HOUR + 200


@pytest.mark.parametrize("error", [Unavailable("no broker"), CommitUnknown("no answer")])
def test_other_systems_are_waited_for_as_long_as_everywhere(world, error):
    assert world.answered(error, 200.0) == "the answer"
    world.now = 0.0
    with pytest.raises(SystemAway, match=r"the start of the driver has waited for \d+ s in vain"):
        world.answered(error, HOUR)
    assert world.now < HOUR


def test_what_is_no_outage_is_not_tried_again(world):
    with pytest.raises(Superseded):
        world.answered(Superseded("epoch 2 is active"), HOUR)
    assert world.called == 1
    assert world.warnings == []
