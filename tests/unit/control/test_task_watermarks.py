"""The bookkeeping of a task agrees with a slow one that goes by the rules, whatever happens in whatever order."""

from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control import (
    END_OF_TIME,
    ControlSnapshot,
    EndOfStream,
    SourceTiming,
    TaskWatermarks,
    Watermark,
    WatermarkHolder,
)

BY, FEED, FLIGHTS = "by", "feed", "flights"
SSPS = [(BY, 0), (BY, 1), (FEED, 0), (FLIGHTS, 0), (FLIGHTS, 1)]
TIMING = SourceTiming(max_out_of_orderness=5, idle_timeout=100)

TASKS = st.sampled_from("ABCD")
TIMES = st.integers(0, 50)
TASK_COUNTS = st.integers(1, 3)
MESSAGES = st.one_of(
    st.builds(
        Watermark,
        timestamps=st.lists(st.tuples(TASKS, TIMES), min_size=1, max_size=3).map(tuple),
        task_count=TASK_COUNTS,
        idle=st.booleans(),
    ),
    st.builds(EndOfStream, tasks=st.lists(TASKS, min_size=1, max_size=2).map(tuple), task_count=TASK_COUNTS),
)
PRODUCERS = st.sets(TASKS, min_size=1).map(lambda tasks: {BY: tuple(sorted(tasks)), FEED: None})


def pass_time(states, now):
    """Advance the clock, while systems answer that all that is silent has been read."""
    for stream, partition in states.silent_partitions(now):
        states.confirm_read(stream, partition, now)
    states.advance_clock(now)


def controls(*ssps):
    return st.tuples(st.just("control"), st.sampled_from(ssps), MESSAGES)


MODELS = st.tuples(st.just("model"), PRODUCERS)
FLIGHT = st.sampled_from([(FLIGHTS, 0), (FLIGHTS, 1)])
ROWS = st.tuples(st.just("row"), FLIGHT, TIMES)
ENDS = st.tuples(st.just("end"), FLIGHT)
CLOCKS = st.tuples(st.just("clock"), st.sampled_from([1, 60, 100]))
STEPS = st.one_of(
    st.lists(steps, max_size=40)
    for steps in (
        controls((BY, 0)) | MODELS,
        controls((BY, 0), (BY, 1)),
        controls((FEED, 0)),
        ROWS | CLOCKS,
        controls((BY, 0), (BY, 1), (FEED, 0)) | MODELS | ROWS | ENDS | CLOCKS,
    )
)


class Slow:
    """Goes through all it was ever told, each time it is asked."""

    def __init__(self, producers):
        self.producers = producers
        self.now = 0
        self.heard = {ssp: [] for ssp in SSPS}  # (task, time or None for the end, idle) or (event time, now)
        self.counts = {}
        self.ended_ssps = set()
        self.values = {}

    def control(self, ssp, message):
        if ssp in self.ended_ssps:
            return
        if isinstance(message, Watermark):
            said = [(task, time, message.idle) for task, time in message.timestamps]
        else:
            said = [(task, None, False) for task in message.tasks]
        fewer = self.producers[ssp[0]] is None and message.task_count < self.counts.get(ssp, 0)
        if fewer and len({task for task, *_ in (*self.heard[ssp], *said)}) > message.task_count:
            self.heard[ssp].clear()
        self.heard[ssp] += said
        self.counts[ssp] = message.task_count

    def row(self, ssp, time):
        self.heard[ssp].append((time, self.now))

    def end(self, ssp):
        self.ended_ssps.add(ssp)

    def clock(self, step):
        self.now += step

    def model(self, producers):
        self.producers = producers

    def advance(self):
        for ssp in SSPS:
            if ssp[0] != FLIGHTS:
                self.settle_partition(ssp)
        for stream in (BY, FEED, FLIGHTS):
            members = {ssp for ssp in SSPS if ssp[0] == stream}
            live = [ssp for ssp in members - self.ended_ssps if not self.source_is_idle(ssp)]
            self.raise_to(stream, [self.partition_value(ssp) for ssp in live])
            if members <= self.ended_ssps:
                self.values[stream] = END_OF_TIME

    def settle_partition(self, ssp):
        expected = self.expected(ssp)
        if expected is None or ssp in self.ended_ssps:
            return
        said = {task: [entry for entry in self.heard[ssp] if entry[0] == task] for task in expected}
        ended = {task for task, entries in said.items() if any(time is None for _, time, _ in entries)}
        idle = {task for task, entries in said.items() if entries and entries[-1][2]}
        if ended == set(expected):
            self.ended_ssps.add(ssp)
        live = set(expected) - ended - idle
        self.raise_to(ssp, [max((time for _, time, _ in said[task]), default=None) for task in live])

    def expected(self, ssp):
        """Return None as long as producers of another app are missing."""
        if self.producers[ssp[0]] is not None:
            return self.producers[ssp[0]]
        latest_first = list(dict.fromkeys(task for task, _, _ in reversed(self.heard[ssp])))
        count = self.counts.get(ssp, 1)
        return latest_first[:count] if len(latest_first) >= count else None

    def raise_to(self, name, times):
        if times and None not in times:
            self.values[name] = max(min(times), self.values.get(name, min(times)))

    def partition_value(self, ssp):
        if ssp[0] != FLIGHTS:
            return self.values.get(ssp)
        return max((time - 5 for time, _ in self.heard[ssp]), default=None)

    def source_is_idle(self, ssp):
        return ssp[0] == FLIGHTS and self.now - max((at for _, at in self.heard[ssp]), default=0) >= 100

    def watermark(self, stream):
        return self.values.get(stream)

    def ended(self, stream):
        return all(ssp in self.ended_ssps for ssp in SSPS if ssp[0] == stream)


class Fast:
    """Does the same to the real one."""

    def __init__(self, producers):
        self.producers = producers
        self.now = 0
        self.states = self.new()

    def new(self):
        return TaskWatermarks(SSPS, producers=self.producers, sources={FLIGHTS: TIMING}, now=self.now)

    def control(self, ssp, message):
        self.states.apply(*ssp, message)

    def row(self, ssp, time):
        self.states.observe(*ssp, time)

    def end(self, ssp):
        self.states.end(*ssp)

    def clock(self, step):
        self.now += step
        pass_time(self.states, self.now)

    def model(self, producers):
        self.producers = producers
        self.states.update_producers(producers)

    def restart(self):
        written = self.states.snapshot().model_dump_json()
        self.states = self.new()
        self.states.restore(ControlSnapshot.model_validate_json(written))


def answers(states):
    return {stream: (states.watermark(stream), states.ended(stream)) for stream in (BY, FEED, FLIGHTS)}


@settings(max_examples=500)
@given(PRODUCERS, STEPS)
def test_it_agrees_with_the_rules(producers, steps):
    fast, slow = Fast(producers), Slow(producers)

    for name, *arguments in steps:
        for book in (fast, slow):
            getattr(book, name)(*arguments)
        slow.advance()

        assert answers(fast.states) == answers(slow)


@given(PRODUCERS, STEPS, st.sets(st.integers(0, 40)))
def test_a_restart_changes_nothing(producers, steps, restarts):
    steady, restarted = Fast(producers), Fast(producers)

    for number, (name, *arguments) in enumerate(steps):
        if number in restarts:
            restarted.restart()
        for book in (steady, restarted):
            getattr(book, name)(*arguments)

        assert answers(steady.states) == answers(restarted.states)
        assert steady.states.snapshot() == restarted.states.snapshot()
        for stream in (BY, FEED, FLIGHTS):
            assert steady.states.idle(stream) == restarted.states.idle(stream)
            assert steady.states.held_back_by(stream) == restarted.states.held_back_by(stream)


@given(PRODUCERS, STEPS)
def test_no_watermark_goes_back_and_what_ended_stays_ended(producers, steps):
    book = Fast(producers)
    before = answers(book.states)

    for name, *arguments in steps:
        getattr(book, name)(*arguments)
        now = answers(book.states)

        for (watermark, ended), (watermark_now, ended_now) in zip(before.values(), now.values(), strict=True):
            assert watermark is None or watermark_now >= watermark
            assert ended_now >= ended
        before = now


def states_of(*ssps, producers=None, timing=TIMING, now=0):
    sources = {stream: timing for stream, _ in ssps}
    return TaskWatermarks(ssps, producers=producers or {}, sources=sources, now=now)


def report(states, task, time, *, stream=BY, partition=0, idle=False):
    states.apply(stream, partition, Watermark(timestamps=((task, time),), task_count=2, idle=idle))


def test_several_streams_are_as_far_as_the_slowest():
    states = states_of(("p", 0), ("q", 0))

    states.observe("p", 0, 20)
    assert states.watermark("p", "q") is None
    states.observe("q", 0, 12)
    assert states.watermark("p", "q") == 7


def test_a_stream_without_partitions_has_ended():
    states = states_of()

    assert states.ended("p")
    assert states.watermark("p") == END_OF_TIME
    assert states.all_ended
    assert not states.idle("p")


def test_a_stream_without_producers_has_ended():
    assert states_of((BY, 0), producers={BY: ()}).ended(BY)


def test_all_inputs_are_idle_when_sources_are_silent_and_producers_say_so():
    states = states_of((BY, 0), (FLIGHTS, 0), producers={BY: ("A", "B")})
    report(states, "A", 5, idle=True)
    pass_time(states, 100)
    assert states.idle(FLIGHTS)
    assert not states.idle(BY, FLIGHTS)

    report(states, "B", 5, idle=True)
    assert states.idle(BY, FLIGHTS)

    states.end(FLIGHTS, 0)
    assert states.idle(BY, FLIGHTS)
    states.apply(BY, 0, EndOfStream(tasks=("A", "B"), task_count=2))
    assert not states.idle(BY, FLIGHTS)


def test_a_partition_with_something_to_read_is_not_idle():
    states = states_of((FLIGHTS, 0), (FLIGHTS, 1))
    states.observe(FLIGHTS, 0, 50)
    pass_time(states, 90)
    states.wake(FLIGHTS, 1)
    pass_time(states, 110)
    states.observe(FLIGHTS, 0, 60)
    assert states.watermark(FLIGHTS) is None

    pass_time(states, 190)
    assert states.watermark(FLIGHTS) == 55


def test_a_partition_that_follows_its_parents_holds_nothing_back_until_it_wakes():
    states = states_of((FLIGHTS, 0), (FLIGHTS, 1))
    states.follow(FLIGHTS, 1)
    states.observe(FLIGHTS, 0, 50)
    assert states.watermark(FLIGHTS) == 45

    states.wake(FLIGHTS, 1)
    states.observe(FLIGHTS, 0, 90)
    assert states.watermark(FLIGHTS) == 45
    states.observe(FLIGHTS, 1, 70)
    assert states.watermark(FLIGHTS) == 65


def test_a_partition_that_follows_is_idle_only_with_others_that_are():
    states = states_of((FLIGHTS, 0), (FLIGHTS, 1))
    states.follow(FLIGHTS, 0)
    states.follow(FLIGHTS, 1)
    assert not states.idle(FLIGHTS)
    states.wake(FLIGHTS, 0)
    assert not states.idle(FLIGHTS)
    pass_time(states, 100)
    assert states.idle(FLIGHTS)
    states.observe(FLIGHTS, 1, 50)
    assert not states.idle(FLIGHTS)


def test_another_apps_producers_that_are_fewer_now_must_all_report_again():
    """Else the watermark would be left to those that reported first, and to some that have left."""
    states = states_of((FEED, 0), producers={FEED: None})
    for task, time in (("Task-0", 10), ("Task-1", 50), ("Task-2", 60)):
        states.apply(FEED, 0, Watermark(timestamps=((task, time),), task_count=3))
    assert states.watermark(FEED) == 10

    states.apply(FEED, 0, Watermark(timestamps=(("Task-2", 70),), task_count=2))
    assert states.watermark(FEED) == 10
    states.apply(FEED, 0, Watermark(timestamps=(("Task-0", 20),), task_count=2))
    assert states.watermark(FEED) == 20
    states.apply(FEED, 0, EndOfStream(tasks=("Task-0", "Task-2"), task_count=2))
    assert states.ended(FEED)


def test_another_apps_producers_that_never_reported_are_not_waited_for_when_they_are_fewer():
    states = states_of((FEED, 0), producers={FEED: None})
    for task, time in (("Task-0", 10), ("Task-1", 50)):
        states.apply(FEED, 0, Watermark(timestamps=((task, time),), task_count=3))
    assert states.watermark(FEED) is None
    states.apply(FEED, 0, Watermark(timestamps=(("Task-0", 20),), task_count=2))
    assert states.watermark(FEED) == 20


def test_another_apps_producers_that_are_more_now_hold_the_watermark_until_all_have_reported():
    states = states_of((FEED, 0), producers={FEED: None})
    states.apply(FEED, 0, Watermark(timestamps=(("A", 10),), task_count=1))
    states.apply(FEED, 0, Watermark(timestamps=(("A", 50),), task_count=2))
    assert states.watermark(FEED) == 10
    assert not states.ended(FEED)

    states.apply(FEED, 0, Watermark(timestamps=(("B", 30),), task_count=2))
    assert states.watermark(FEED) == 30


def test_the_producer_that_holds_a_watermark_back_is_named():
    states = states_of((BY, 0), (BY, 1), producers={BY: ("A 10", "A 2")})
    assert states.held_back_by(BY) == WatermarkHolder(partition=0, producer="A 2", watermark=None)
    for partition in (0, 1):
        report(states, "A 2", 30, partition=partition)
    assert states.held_back_by(BY) == WatermarkHolder(partition=0, producer="A 10", watermark=None)
    report(states, "A 10", 20)
    report(states, "A 10", 10, partition=1)

    assert states.held_back_by(BY) == WatermarkHolder(partition=1, producer="A 10", watermark=10)


def test_the_source_partition_that_holds_a_watermark_back_is_named():
    states = states_of((FLIGHTS, 0), (FLIGHTS, 7))
    states.observe(FLIGHTS, 0, 50)
    states.observe(FLIGHTS, 7, 20)
    assert states.held_back_by(FLIGHTS) == WatermarkHolder(partition=7, producer=None, watermark=15)

    pass_time(states, 100)
    assert states.held_back_by(FLIGHTS) is None


def test_partitions_that_are_not_in_the_snapshot_start_again_below_the_old_watermark():
    states = states_of((FLIGHTS, 0))
    states.observe(FLIGHTS, 0, 50)
    grown = states_of((FLIGHTS, 0), (FLIGHTS, 4))

    grown.restore(states.snapshot())
    grown.observe(FLIGHTS, 0, 80)
    assert grown.watermark(FLIGHTS) == 45
    grown.observe(FLIGHTS, 4, 60)
    assert grown.watermark(FLIGHTS) == 55


def test_tasks_of_another_app_that_left_hold_nothing_back():
    states = states_of((FEED, 0), producers={FEED: None})
    for task, time in (("A", 5), ("B", 9), ("C", 7)):
        states.apply(FEED, 0, Watermark(timestamps=((task, time),), task_count=3))
    assert states.watermark(FEED) == 5

    for task, time in (("A", 20), ("C", 30)):
        states.apply(FEED, 0, Watermark(timestamps=((task, time),), task_count=2))
    assert states.watermark(FEED) == 20
