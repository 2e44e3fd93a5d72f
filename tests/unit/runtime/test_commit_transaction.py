"""A commit without an answer is asked for its outcome again: a few times, and unless the driver has stopped it."""

from types import SimpleNamespace

import pytest

from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import DriverLost
from streamapp_runtime.processor.committer import Committer, commit_transaction
from streamapp_systems.protocols import CommitUnknown, Fenced

POSITIONS = {Ssp("log", "changelog", 0): 7}


class Producer:
    """A producer whose brokers are silent so many times, and then answer with positions or an error."""

    def __init__(self, silent, answer=POSITIONS):
        self.asked = 0
        self._silent = silent
        self._answer = answer

    def was_away(self):
        return False

    def commit(self):
        self.asked += 1
        if self.asked <= self._silent:
            raise CommitUnknown("no answer")
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def commit(producer, stopped=lambda: None):
    return commit_transaction(producer, stopped)


@pytest.mark.parametrize("silent", range(5))
def test_the_outcome_is_that_of_the_answer_when_it_comes(silent):
    producer = Producer(silent)
    assert commit(producer) == POSITIONS
    assert producer.asked == silent + 1


def test_a_refusal_that_comes_late_is_told():
    with pytest.raises(Fenced):
        commit(Producer(3, Fenced("a later one has the id")))


def test_without_an_answer_again_and_again_the_commit_stays_unknown():
    producer = Producer(100)
    with pytest.raises(CommitUnknown):
        commit(producer)
    assert producer.asked == 5


def test_a_processor_that_is_stopped_asks_no_longer():
    def stopped():
        raise DriverLost("stopped")

    producer = Producer(3)
    with pytest.raises(DriverLost):
        commit(producer, stopped)
    assert producer.asked == 1


class SlowProducer(Producer):
    """A producer that takes its id over again for 7 s, and commits in 2 s."""

    def __init__(self):
        super().__init__(0)
        self.now = 0.0
        self.prepared = False

    def prepare(self):
        if not self.prepared:
            self.now += 7.0
        self.prepared = True

    def commit(self):
        self.prepare()
        self.now += 2.0
        return super().commit()


class ForgetfulProducer(Producer):
    """A producer whose brokers were away."""

    def __init__(self):
        super().__init__(0)
        self.away = True
        self.now = 0.0

    def prepare(self):
        pass

    def was_away(self):
        away, self.away = self.away, False
        return away


class Sent(list):
    """Counts the rounds of messages without rows."""

    def flush(self):
        pass

    def send_empty(self, now):
        self.append(now)


def committer_of(producer, intermediate):
    idle = SimpleNamespace(flush=lambda: None, send=lambda _now: None, commit=lambda: None)
    return Committer(
        SimpleNamespace(tasks=[], shared=idle),
        {},
        SimpleNamespace(intermediate=intermediate, outputs=idle, producer=producer, files={}, places={}),
        idle,
        clock=lambda: producer.now,
        raise_if_stopped=lambda: None,
    )


def test_what_the_producer_needs_before_a_transaction_does_not_count_for_the_size_of_commits():
    producer = SlowProducer()
    committer = committer_of(producer, Sent())
    committer.commit(0)
    assert (committer.transaction_seconds, committer.answer_seconds) == (2.0, 2.0)


def test_after_brokers_were_away_a_commit_writes_to_all_that_the_one_before_may_have_written_to():
    producer, sent = ForgetfulProducer(), Sent()
    committer = committer_of(producer, sent)
    assert committer.may_hang()
    committer.commit(1)
    assert (committer.may_hang(), sent) == (False, [1])
    producer.away = True
    assert not committer.may_hang(), "brokers may be away for long: commits are not made all the time for that"
    committer.commit(2)
    producer.now = 5.0
    assert committer.may_hang()
    committer.commit(3)
    producer.away = True
    committer.commit(4, last=True)
    assert sent == [1, 3, 4]
