import pytest

from streamapp_runtime.errors import DriverLost
from streamapp_runtime.processor.driver_channel import Command
from streamapp_runtime.processor.processor_report import Incarnation
from streamapp_runtime.processor.restore_reporter import RestoreReporter
from streamapp_runtime.state.changelog_restore import RestoreStatus

ME = Incarnation(processor="0", epoch=1, version=1, number=1)


class Link:
    """A link to a driver with one command; it keeps the reports."""

    def __init__(self, wanted=Command.RUN):
        self.wanted = wanted
        self.reported = []

    def set_report(self, report):
        assert not report.opened
        self.reported.append({task: (state.kept, state.records, state.left) for task, state in report.states.items()})

    def command(self):
        return self.wanted


def test_the_restore_of_each_state_is_reported():
    link = Link()
    restoring = RestoreReporter(ME, link)
    restoring.report("a", RestoreStatus(kept=False, records=0, left=2))
    restoring.report("a", RestoreStatus(kept=False, records=2, left=0))
    restoring.report("b", RestoreStatus(kept=True, records=0, left=9))
    assert link.reported == [{"a": (False, 0, 2)}, {"a": (False, 2, 0)}, {"a": (False, 2, 0), "b": (True, 0, 9)}]


def test_a_processor_that_is_to_end_restores_no_further():
    with pytest.raises(DriverLost):
        RestoreReporter(ME, Link(Command.DRAIN)).report("a", RestoreStatus(kept=False, records=1, left=1))
