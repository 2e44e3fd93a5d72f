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
    registry = ReportRegistry(Clock())
    registry.register(FIRST)
    assert registry.report(ProcessorReport(incarnation=FIRST)) is Command.RUN
    registry.deregister("0")
    assert registry.report(ProcessorReport(incarnation=FIRST)) is Command.STOP
    registry.register(NEXT)
    for stranger in (FIRST, OTHER, msgspec.structs.replace(NEXT, epoch=2), msgspec.structs.replace(NEXT, version=1)):
        assert registry.report(ProcessorReport(incarnation=stranger)) is Command.STOP
    assert registry.report(ProcessorReport(incarnation=NEXT)) is Command.RUN


def test_the_next_incarnation_is_not_drained_with_the_one_before():
    registry = ReportRegistry(Clock())
    registry.register(FIRST)
    registry.register(OTHER)
    registry.drain({"0"})
    assert registry.report(ProcessorReport(incarnation=FIRST)) is Command.DRAIN
    assert registry.report(ProcessorReport(incarnation=OTHER)) is Command.RUN
    registry.register(NEXT)
    assert registry.report(ProcessorReport(incarnation=NEXT)) is Command.RUN


def test_the_time_of_the_last_report_is_that_of_the_current_incarnation():
    clock = Clock()
    registry = ReportRegistry(clock)
    registry.register(FIRST)
    assert registry.reported_at("0") is None
    clock.now = 5.0
    registry.report(ProcessorReport(incarnation=FIRST))
    assert registry.reported_at("0") == 5.0
    registry.register(NEXT)
    clock.now = 6.0
    registry.report(ProcessorReport(incarnation=FIRST))
    assert registry.reported_at("0") is None


def test_what_a_processor_has_done_is_shown_until_the_next_incarnation_has_opened_its_tasks():
    registry = ReportRegistry(Clock())
    done = ProcessorReport(incarnation=FIRST, opened=True, written={"out": 5})
    restoring = ProcessorReport(incarnation=NEXT, states={"Partition 0": StateReport(kept=False, records=1, left=9)})
    opened = ProcessorReport(incarnation=NEXT, opened=True, written={"out": 4})
    registry.register(FIRST)
    registry.report(done)
    registry.register(NEXT)
    registry.report(restoring)
    assert registry.reports() == {"0": msgspec.structs.replace(done, states=restoring.states)}
    registry.report(opened)
    assert registry.reports() == {"0": opened}
    registry.forget({"0"})
    assert registry.reports() == {}
