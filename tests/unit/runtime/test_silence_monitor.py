"""Systems are asked for the ends of silent partitions and never waited for; tasks get their answers."""

from streamapp_core.control import SourceTiming, TaskWatermarks
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.silence_monitor import SilenceMonitor

TIMEOUT = 400
HERE, THERE, OTHER = Ssp("kafka", "in", 0), Ssp("kafka", "in", 1), Ssp("log", "other", 0)


class Reader:
    """A task, as far as the monitor knows one."""

    def __init__(self, *ssps):
        places = [(ssp.stream, ssp.partition) for ssp in ssps]
        timings = {ssp.stream: SourceTiming(idle_timeout=TIMEOUT) for ssp in ssps}
        self.states = TaskWatermarks(places, producers={}, sources=timings, now=0)
        self.interrupted = []

    def silent_partitions(self, since):
        return self.states.silent_partitions(since)

    @property
    def next_idle_at(self):
        return self.states.next_idle_at

    def confirm_read(self, ssp, asked_at):
        self.states.confirm_read(ssp.stream, ssp.partition, asked_at)

    def interrupt(self, ssp):
        self.interrupted.append(ssp)
        self.states.interrupt(ssp.stream, ssp.partition)


class System:
    """A consumer whose answers a test gives."""

    def __init__(self):
        self.questions = []

    def ask_ends(self, ssps):
        self.questions.append(Question(ssps))
        return self.questions[-1]


class Question:
    def __init__(self, ssps):
        self.ssps, self.answer = ssps, None

    def poll(self):
        return self.answer


def setting(*ssps):
    systems, reader = {name: System() for name in {ssp.system for ssp in ssps}}, Reader(*ssps)
    monitor = SilenceMonitor(systems, {ssp: [reader] for ssp in ssps}, {ssp.stream: TIMEOUT for ssp in ssps})

    def step(now):
        monitor.step(now)
        reader.states.advance_clock(now)

    return systems, reader, step


def test_a_partition_is_idle_by_the_answers_of_its_own_system_only():
    systems, reader, step = setting(HERE, OTHER)
    for now in range(0, 1_000, 20):
        step(now)
        for question in systems["log"].questions:
            question.answer = {OTHER: True}
    assert reader.states.idle("other")
    assert not reader.states.idle("in")
    assert len(systems["kafka"].questions) == 1


def test_of_the_partitions_of_a_system_those_without_an_answer_are_not_idle_and_need_a_whole_timeout_after_it():
    systems, reader, step = setting(HERE, THERE)
    away_until = 2_000
    for now in range(0, away_until, 20):
        step(now)
        for question in systems["kafka"].questions:
            question.answer = question.answer or {HERE: True}
    reader.states.observe("in", 0, 7)
    assert reader.states.watermark("in") is None
    idle_at = None
    for now in range(away_until, 4_000, 20):
        step(now)
        for question in systems["kafka"].questions:
            question.answer = question.answer or {HERE: True, THERE: True}
        if idle_at is None and reader.states.watermark("in") is not None:
            idle_at = now
    assert idle_at is not None
    assert away_until + TIMEOUT - 200 <= idle_at <= away_until + 2 * TIMEOUT


def test_a_partition_with_unread_records_is_not_idle_however_long_it_brings_none():
    systems, reader, step = setting(HERE)
    for now in range(0, 5_000, 20):
        step(now)
        for question in systems["kafka"].questions:
            question.answer = {HERE: False}
    assert not reader.states.idle("in")
    assert len(systems["kafka"].questions) > 10


def test_a_system_is_asked_when_a_timeout_has_passed_however_short_ago_it_was_asked():
    systems, reader, step = setting(HERE)
    for now in (0, TIMEOUT - 1, TIMEOUT, TIMEOUT + 1):
        step(now)
        for question in systems["kafka"].questions:
            question.answer = {HERE: True}
    assert reader.states.idle("in")


def test_a_partition_with_rows_is_not_asked_for():
    systems, reader, step = setting(HERE)
    for now in range(0, 1_000, 20):
        reader.states.observe("in", 0, now)
        step(now)
    assert systems["kafka"].questions == []


def test_a_commit_counts_by_the_timeout_of_each_stream():
    short, long = Ssp("kafka", "short", 0), Ssp("kafka", "long", 0)
    reader = Reader(short, long)
    monitor = SilenceMonitor({"kafka": System()}, {short: [reader], long: [reader]}, {"short": TIMEOUT, "long": 60_000})
    monitor.note_commit(TIMEOUT / 1_000)
    assert reader.interrupted == [short]


def test_a_commit_that_took_long_is_an_absence_of_its_system():
    systems, reader = {"kafka": System()}, Reader(HERE)
    monitor = SilenceMonitor(systems, {HERE: [reader]}, {"in": TIMEOUT})
    reader.states.advance_clock(10_000)
    monitor.note_commit(TIMEOUT / 2_000)
    reader.confirm_read(HERE, 10_000 + TIMEOUT - 1)
    reader.states.advance_clock(20_000)
    assert not reader.states.idle("in")
    monitor.note_commit(TIMEOUT / 2_000 - 0.01)
    reader.confirm_read(HERE, 10_000 + TIMEOUT)
    reader.states.advance_clock(20_000)
    assert reader.states.idle("in")
