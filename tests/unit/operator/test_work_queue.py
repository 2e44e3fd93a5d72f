import threading

from hypothesis import given
from hypothesis import strategies as st

from streamapp_operator.observe.work_queue import WorkQueue


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def make_queue(clock=None, most_workers=10):
    """A queue of texts, whose first letter is the tenant."""
    return WorkQueue(clock or Clock(), lambda key: key[0], most_workers=most_workers)


def test_a_key_that_is_named_often_comes_once():
    queue = make_queue()
    for key in "aab":
        queue.add(key)
    assert [queue.take(), queue.take()] == ["a", "b"]
    assert queue.depth() == 0


def test_the_earliest_time_counts():
    clock = Clock()
    queue = make_queue(clock)
    queue.add("a", 60)
    queue.add("b", 30)
    queue.add("a", 5)
    queue.add("a", 90)
    clock.now = 5
    assert queue.take() == "a"
    clock.now = 200
    assert queue.take() == "b"
    assert queue.depth() == 0


def test_a_key_that_a_worker_has_comes_again_after_it_is_done():
    queue = make_queue()
    queue.add("a")
    assert queue.take() == "a"
    queue.add("a")
    queue.add("b")
    assert queue.take() == "b"
    queue.done("a")
    assert queue.take() == "a"


def test_what_waits_longest_is_told():
    clock = Clock()
    queue = make_queue(clock)
    assert queue.longest_wait() == 0
    queue.add("a")
    queue.add("later", 100)
    clock.now = 7
    assert queue.longest_wait() == 7
    queue.take()
    clock.now = 9
    assert queue.longest_wait() == 2


def test_keys_that_wait_for_others_of_their_tenant_are_no_wait_of_the_operator():
    clock = Clock()
    queue = WorkQueue(clock, lambda key: key[0], most_workers=1)
    for key in ("a1", "a2", "b1"):
        queue.add(key)
    assert queue.take() == "a1"
    clock.now = 10
    assert queue.longest_wait() == 10
    assert queue.take() == "b1"
    queue.done("b1")
    queue.done("a1")
    assert queue.take() == "a2"
    queue.add("a3")
    clock.now = 15
    assert queue.longest_wait() == 5
    clock.now = 25
    queue.done("a2")
    assert queue.longest_wait() == 15


def test_everybody_goes_home_when_it_is_closed():
    queue = make_queue()
    taken = []
    threads = [threading.Thread(target=lambda: taken.append(queue.take())) for _ in range(3)]
    for thread in threads:
        thread.start()
    queue.close()
    for thread in threads:
        thread.join(10)
    assert taken == [None] * 3


def test_a_tenant_with_many_keys_does_not_keep_those_of_others_waiting():
    queue = make_queue()
    for number in range(5):
        queue.add(f"a{number}")
    queue.add("b0")
    queue.add("b1")
    assert [queue.take() for _ in range(4)] == ["a0", "b0", "a1", "b1"]
    queue.done("b0")
    queue.add("b2")
    assert [queue.take() for _ in range(2)] == ["b2", "a2"]


def test_a_tenant_never_has_all_workers():
    queue = make_queue(most_workers=2)
    taken = []
    for number in range(3):
        queue.add(f"a{number}")
    assert [queue.take(), queue.take()] == ["a0", "a1"]
    other = threading.Thread(target=lambda: taken.append(queue.take()))
    other.start()
    queue.add("b0")
    other.join(10)
    assert taken == ["b0"]
    queue.done("a0")
    assert queue.take() == "a2"


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 5), st.integers(0, 3)), max_size=30))
def test_every_key_is_taken_once_whatever_its_tenant_and_delay(added):
    clock = Clock()
    queue = make_queue(clock, most_workers=2)
    for tenant, number, delay in added:
        queue.add(f"{tenant}{number}", delay)
    clock.now = 3.0
    taken = []
    while queue.depth():
        taken.append(queue.take())
        queue.done(taken[-1])
    assert sorted(taken) == sorted({f"{tenant}{number}" for tenant, number, _ in added})
