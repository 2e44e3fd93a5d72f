import threading
from contextlib import closing

import pytest

from streamapp_runtime.errors import DriverLost
from streamapp_runtime.processor.driver_channel import Command, NoAnswer
from streamapp_runtime.processor.driver_link import DriverLink
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport
from streamapp_runtime.threads import OperatingSystemThreads

ME = Incarnation(processor="0", epoch=1, version=1, number=1)
FIRST = ProcessorReport(incarnation=ME)


class Driver:
    """A driver with a given answer; `received` lets a test wait for reports."""

    def __init__(self, answer=Command.RUN):
        self.answer = answer
        self.reports = []
        self.received = threading.Semaphore(0)

    def report(self, report):
        self.reports.append(report)
        self.received.release()
        answer = self.answer  # which the test may change in between
        if isinstance(answer, Exception):
            raise answer
        return answer


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def link_to(driver, clock=None, every=0.001):
    return closing(DriverLink(driver, FIRST, clock or Clock(), OperatingSystemThreads(), every=every, timeout=10.0))


def wait_for(driver, reports):
    for _ in range(reports):
        assert driver.received.acquire(timeout=60)


def test_reports_go_out_while_the_processor_is_busy():
    driver = Driver()
    with link_to(driver) as link:
        wait_for(driver, 3)
        newer = ProcessorReport(incarnation=ME, commits=1)
        link.set_report(newer)
        while driver.reports[-1] != newer:
            wait_for(driver, 1)
        assert link.command() is Command.RUN


@pytest.mark.parametrize("answer", [Command.STOP, DriverLost("gone")])
def test_a_driver_that_says_stop_or_is_gone_ends_the_processor(answer):
    driver = Driver(answer)
    with link_to(driver) as link:
        with pytest.raises(DriverLost):
            link.confirm_current()
        with pytest.raises(DriverLost):
            link.command()


def test_to_drain_is_not_taken_back():
    driver = Driver(Command.DRAIN)
    with link_to(driver) as link:
        link.confirm_current()
        driver.answer = Command.RUN
        link.confirm_current()
        assert link.command() is Command.DRAIN


def test_a_silent_driver_is_lost_after_the_timeout():
    driver, clock = Driver(NoAnswer("timed out")), Clock()
    with link_to(driver, clock) as link:
        wait_for(driver, 3)
        clock.now = 10.0
        wait_for(driver, 3)
        assert link.command() is Command.RUN
        clock.now = 10.5
        with pytest.raises(DriverLost, match="has not answered for 10 s: timed out"):
            link.confirm_current()


def test_a_machine_that_stands_still_for_long_loses_no_driver():
    clock = Clock()

    class Standing(Driver):
        def report(self, report):
            standing = len(self.reports) < 2
            clock.now += 600.0 * standing
            self.answer = NoAnswer("timed out") if standing else Command.RUN
            return super().report(report)

    with link_to(Standing(), clock) as link:
        link.confirm_current()
        assert link.command() is Command.RUN


def test_no_answer_confirms_nothing():
    driver = Driver(NoAnswer("timed out"))
    with link_to(driver) as link:
        confirmed = threading.Thread(target=link.confirm_current)
        confirmed.start()
        wait_for(driver, 5)
        assert confirmed.is_alive()
        driver.answer = Command.RUN
        confirmed.join(60)
        assert not confirmed.is_alive()
