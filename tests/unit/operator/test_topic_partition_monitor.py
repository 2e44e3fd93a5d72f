"""Partition counts of external streams: one request for all apps, changes debounced, errors reported once."""

from hypothesis import given
from hypothesis import strategies as st

from streamapp_operator.observe.resource_views import AppKey
from streamapp_operator.observe.topic_partition_monitor import TopicPartitionMonitor, WatchedTopics
from streamapp_systems.protocols import StreamSystemError

SHOP, OTHER = (AppKey(namespace="default", name=name) for name in ("shop", "other"))


class Brokers:
    """Brokers with topics, and a clock."""

    def __init__(self, **topics):
        self.topics = topics
        self.requests = []
        self.error = None
        self.now = 0.0
        self.changed = []
        self.monitor = TopicPartitionMonitor(self, self.changed.append, debounce=10.0, clock=lambda: self.now)

    def count(self, topics):
        self.requests.append(list(topics))
        if self.error:
            raise StreamSystemError(self.error)
        return {topic: self.topics[topic] for topic in topics if topic in self.topics}

    def answer(self, app=SHOP, topics=("orders",), interval=30.0):
        return self.monitor.watch(app, WatchedTopics(topics=frozenset(topics), interval=interval))

    def count_after(self, seconds=0.0):
        self.now += seconds
        self.monitor.count()


def test_counts_are_known_after_the_first_request():
    brokers = Brokers(orders=4)
    assert brokers.answer().known is None
    brokers.count_after()
    assert brokers.answer().known == {"orders": 4}
    assert brokers.changed == [SHOP]


def test_one_request_is_for_all_apps():
    brokers = Brokers(orders=4, totals=2)
    brokers.answer(SHOP, ["orders", "totals"])
    brokers.answer(OTHER, ["orders", "missing"])
    brokers.count_after()
    assert brokers.requests == [["missing", "orders", "totals"]]
    assert brokers.answer(OTHER, ["orders", "missing"]).known == {"orders": 4}


def test_a_growth_counts_once_it_is_stable():
    brokers = Brokers(orders=4)
    brokers.answer()
    brokers.count_after()
    brokers.changed.clear()
    brokers.topics["orders"] = 6
    brokers.count_after(30)
    assert brokers.answer().known == {"orders": 4}
    brokers.topics["orders"] = 8
    brokers.count_after(5)
    brokers.count_after(9)
    assert brokers.changed == []
    brokers.count_after(1)
    assert brokers.answer().known == {"orders": 8}
    assert brokers.changed == [SHOP]


def test_a_count_that_comes_back_was_nothing():
    brokers = Brokers(orders=4)
    brokers.answer()
    brokers.count_after()
    brokers.topics["orders"] = 0
    brokers.count_after(30)
    brokers.topics["orders"] = 4
    brokers.count_after(10)
    brokers.topics["orders"] = 0
    brokers.count_after(1)
    assert brokers.answer().known == {"orders": 4}


def test_an_error_is_reported_once_and_known_counts_stay():
    brokers = Brokers(orders=4)
    brokers.answer()
    brokers.count_after()
    brokers.changed.clear()
    brokers.error = "nobody answers"
    brokers.count_after(30)
    brokers.count_after(5)
    assert brokers.changed == [SHOP]
    assert (brokers.answer().known, brokers.answer().error) == ({"orders": 4}, "nobody answers")
    brokers.error = None
    brokers.count_after(5)
    assert brokers.changed == [SHOP, SHOP]
    assert brokers.answer().error is None


def test_topics_of_apps_that_are_gone_are_not_requested():
    brokers = Brokers(orders=4, totals=2)
    brokers.answer(SHOP, ["orders"])
    brokers.answer(OTHER, ["totals"])
    brokers.count_after()
    brokers.monitor.forget(OTHER)
    brokers.count_after(30)
    assert brokers.requests[-1] == ["orders"]


def test_an_app_that_is_watched_is_due_at_once_and_then_after_its_interval():
    brokers = Brokers(orders=4)
    assert brokers.monitor.due_in() is None
    brokers.answer()
    assert brokers.monitor.due_in() == 0.0
    brokers.count_after()
    assert brokers.monitor.due_in() == 30.0
    brokers.answer(OTHER, ["orders"], interval=7.0)
    assert brokers.monitor.due_in() == 7.0
    brokers.answer(OTHER, ["new"], interval=7.0)
    assert brokers.monitor.due_in() == 0.0


def test_who_does_not_answer_is_asked_less_and_less_often():
    brokers = Brokers(orders=4)
    brokers.answer(interval=1.0)
    brokers.error = "nobody answers"
    waits = []
    for _ in range(6):
        brokers.count_after()
        waits.append(brokers.monitor.due_in())
    assert waits == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]
    brokers.error = None
    brokers.count_after(60)
    assert brokers.monitor.due_in() == 1.0


def test_whether_any_app_is_left_is_returned():
    brokers = Brokers(orders=4)
    brokers.answer(SHOP)
    brokers.answer(OTHER)
    assert brokers.monitor.forget(SHOP)
    assert not brokers.monitor.forget(OTHER)


APPS = st.sampled_from([AppKey(namespace="default", name=name) for name in "abc"])
TOPICS = st.frozensets(st.sampled_from(["x", "y", "z"]), max_size=2)
INTERVALS = st.sampled_from([None, 10.0, 30.0])
STEPS = st.one_of(
    st.tuples(APPS, st.builds(WatchedTopics, topics=TOPICS, interval=INTERVALS)), APPS, st.sampled_from(["count"])
)


@given(st.lists(STEPS, max_size=20))
def test_the_next_request_is_due_by_the_topics_and_intervals_of_the_apps_that_are_left(steps):
    brokers = Brokers(x=1, y=2)
    watched, counted = {}, None
    for step in steps:
        if step == "count":
            brokers.count_after()
            counted = frozenset().union(*(entry.topics for entry in watched.values()))
        elif isinstance(step, AppKey):
            watched.pop(step, None)
            assert brokers.monitor.forget(step) is bool(watched)
        else:
            app, entry = step
            watched[app] = entry
            known = brokers.monitor.watch(app, entry).known
            assert (known is not None) is (entry.topics <= (counted or frozenset()))
        unknown = any(not entry.topics <= (counted or frozenset()) for entry in watched.values())
        intervals = [entry.interval for entry in watched.values() if entry.interval is not None]
        expected = None if not intervals else 0.0 if counted is None else min(intervals)
        assert brokers.monitor.due_in() == (0.0 if unknown else expected)
