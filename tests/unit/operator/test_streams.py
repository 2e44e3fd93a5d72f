import threading

from streamapp_operator.observe.partition_counts import BrokerSet, CountRequest
from streamapp_operator.observe.resource_views import AppKey
from streamapp_systems.protocols import StreamSystemError
from support.waiting import eventually

SHOP, OTHER = (AppKey(namespace="default", name=name) for name in ("shop", "other"))


class Brokers:
    """Brokers with topics, and a clock."""

    def __init__(self, **topics):
        self.topics = topics
        self.asked = []
        self.trouble = None
        self.now = 0.0
        self.told = []
        self.set = BrokerSet(self, self.told.append, settle=10.0, clock=lambda: self.now)

    def count(self, topics):
        self.asked.append(list(topics))
        if self.trouble:
            raise StreamSystemError(self.trouble)
        return {topic: self.topics[topic] for topic in topics if topic in self.topics}

    def answer(self, app=SHOP, topics=("orders",), interval=30.0):
        return self.set.answer(app, CountRequest(topics=frozenset(topics), interval=interval))

    def ask(self, seconds=0.0):
        self.now += seconds
        self.set.ask()


def test_an_answer_comes_after_the_question():
    brokers = Brokers(orders=4)
    assert brokers.answer().known is None
    brokers.ask()
    assert brokers.answer().known == {"orders": 4}
    assert brokers.told == [SHOP]


def test_one_request_is_for_all_apps():
    brokers = Brokers(orders=4, totals=2)
    brokers.answer(SHOP, ["orders", "totals"])
    brokers.answer(OTHER, ["orders", "missing"])
    brokers.ask()
    assert brokers.asked == [["missing", "orders", "totals"]]
    assert brokers.answer(OTHER, ["orders", "missing"]).known == {"orders": 4}


def test_growth_is_believed_once_it_has_settled():
    brokers = Brokers(orders=4)
    brokers.answer()
    brokers.ask()
    brokers.told.clear()
    brokers.topics["orders"] = 6
    brokers.ask(30)
    assert brokers.answer().known == {"orders": 4}
    brokers.topics["orders"] = 8
    brokers.ask(5)
    brokers.ask(9)
    assert brokers.told == []
    brokers.ask(1)
    assert brokers.answer().known == {"orders": 8}
    assert brokers.told == [SHOP]


def test_a_count_that_comes_back_was_nothing():
    brokers = Brokers(orders=4)
    brokers.answer()
    brokers.ask()
    brokers.topics["orders"] = 0
    brokers.ask(30)
    brokers.topics["orders"] = 4
    brokers.ask(10)
    brokers.topics["orders"] = 0
    brokers.ask(1)
    assert brokers.answer().known == {"orders": 4}


def test_trouble_is_told_once_and_what_was_known_stays():
    brokers = Brokers(orders=4)
    brokers.answer()
    brokers.ask()
    brokers.told.clear()
    brokers.trouble = "nobody answers"
    brokers.ask(30)
    brokers.ask(5)
    assert brokers.told == [SHOP]
    assert (brokers.answer().known, brokers.answer().trouble) == ({"orders": 4}, "nobody answers")
    brokers.trouble = None
    brokers.ask(5)
    assert brokers.told == [SHOP, SHOP]
    assert brokers.answer().trouble is None


def test_apps_that_are_gone_are_not_asked_for():
    brokers = Brokers(orders=4, totals=2)
    brokers.answer(SHOP, ["orders"])
    brokers.answer(OTHER, ["totals"])
    brokers.ask()
    brokers.set.forget(OTHER)
    brokers.ask(30)
    assert brokers.asked[-1] == ["orders"]


def test_the_thread_asks_as_soon_as_somebody_wants_to_know_and_ends_when_closed():
    brokers = Brokers(orders=4)
    thread = threading.Thread(target=brokers.set.run)
    thread.start()
    brokers.answer()
    assert eventually(lambda: brokers.answer().known == {"orders": 4})
    brokers.set.close()
    thread.join(10)
    assert not thread.is_alive()
    assert len(brokers.asked) == 1
