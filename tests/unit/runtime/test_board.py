import msgspec

from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.processor.driver_channel import Command
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport, StateReport

FIRST = Incarnation(processor="0", epoch=3, version=2, number=1)
NEXT = msgspec.structs.replace(FIRST, number=2)
OTHER = msgspec.structs.replace(FIRST, processor="1", number=3)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_only_the_current_incarnation_may_go_on():
    board = ReportRegistry(Clock())
    board.expect(FIRST)
    assert board.report(ProcessorReport(incarnation=FIRST)) is Command.RUN
    board.dismiss("0")
    assert board.report(ProcessorReport(incarnation=FIRST)) is Command.STOP
    board.expect(NEXT)
    for stranger in (FIRST, OTHER, msgspec.structs.replace(NEXT, epoch=2), msgspec.structs.replace(NEXT, version=1)):
        assert board.report(ProcessorReport(incarnation=stranger)) is Command.STOP
    assert board.report(ProcessorReport(incarnation=NEXT)) is Command.RUN


def test_the_next_incarnation_is_not_drained_with_the_one_before():
    board = ReportRegistry(Clock())
    board.expect(FIRST)
    board.expect(OTHER)
    board.drain({"0"})
    assert board.report(ProcessorReport(incarnation=FIRST)) is Command.DRAIN
    assert board.report(ProcessorReport(incarnation=OTHER)) is Command.RUN
    board.expect(NEXT)
    assert board.report(ProcessorReport(incarnation=NEXT)) is Command.RUN


def test_the_time_of_the_last_report_is_that_of_the_current_incarnation():
    clock = Clock()
    board = ReportRegistry(clock)
    board.expect(FIRST)
    assert board.heard("0") is None
    clock.now = 5.0
    board.report(ProcessorReport(incarnation=FIRST))
    assert board.heard("0") == 5.0
    board.expect(NEXT)
    clock.now = 6.0
    board.report(ProcessorReport(incarnation=FIRST))
    assert board.heard("0") is None


def test_what_a_processor_has_done_is_shown_until_the_next_incarnation_has_opened_its_tasks():
    board = ReportRegistry(Clock())
    done = ProcessorReport(incarnation=FIRST, opened=True, written={"out": 5})
    restoring = ProcessorReport(incarnation=NEXT, states={"Partition 0": StateReport(kept=False, records=1, left=9)})
    opened = ProcessorReport(incarnation=NEXT, opened=True, written={"out": 4})
    board.expect(FIRST)
    board.report(done)
    board.expect(NEXT)
    board.report(restoring)
    assert board.reports() == {"0": msgspec.structs.replace(done, states=restoring.states)}
    board.report(opened)
    assert board.reports() == {"0": opened}
    board.forget({"0"})
    assert board.reports() == {}
