import threading
from collections import Counter

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


def test_a_key_that_nobody_takes_is_a_stall_and_one_that_is_not_due_is_none():
    clock = Clock()
    queue = make_queue(clock)
    assert queue.longest_stall() == 0
    queue.add("a")
    queue.add("later", 100)
    clock.now = 7
    assert queue.longest_stall() == 7
    queue.take()
    assert queue.longest_stall() == 0


def test_a_key_that_a_worker_keeps_is_a_stall_though_others_are_taken():
    clock = Clock()
    queue = make_queue(clock)
    for key in ("a1", "b1"):
        queue.add(key)
    assert queue.take() == "a1"
    clock.now = 10
    assert queue.take() == "b1"
    queue.done("b1")
    clock.now = 15
    assert queue.longest_stall() == 15
    queue.done("a1")
    assert queue.longest_stall() == 0


@given(st.integers(1, 100), st.integers(1, 5))
def test_a_long_queue_that_moves_is_no_stall(keys, most_workers):
    """After a start all apps are due at once: the last one waits for long, and a restart would not help it."""
    clock = Clock()
    queue = make_queue(clock, most_workers=most_workers)
    for number in range(keys):
        queue.add(f"{number % 3}{number}")
    while queue.depth():
        clock.now += 10
        assert queue.longest_stall() == 10
        queue.done(queue.take())
    assert queue.longest_stall() == 0


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


STEPS = st.one_of(
    st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.integers(0, 3)),
    st.sampled_from(["take", "finish the first", "finish the last", "wait"]),
)


@given(st.lists(STEPS, max_size=60))
def test_of_the_tenants_with_due_keys_one_with_the_fewest_workers_comes_first(steps):
    clock = Clock()
    queue = make_queue(clock, most_workers=2)
    due, taken = {}, []
    for step in steps:
        if step == "wait":
            clock.now += 1
        elif step == "take":
            workers = Counter(key[0] for key in taken)
            waiting = {key[0] for key, time in due.items() if time <= clock.now and key not in taken}
            if open_to := [workers[tenant] for tenant in waiting if workers[tenant] < 2]:
                key = queue.take()
                assert workers[key[0]] == min(open_to)
                assert due.pop(key) <= clock.now
                taken.append(key)
        elif isinstance(step, str):
            if taken:
                queue.done(taken.pop(0 if step == "finish the first" else -1))
        else:
            tenant, number, delay = step
            key = f"{tenant}{number}"
            queue.add(key, delay)
            due[key] = min(due.get(key, 99), clock.now + delay)
