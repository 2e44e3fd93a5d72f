import threading

from streamapp_operator.process.work_queue import WorkQueue


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_a_key_that_is_named_often_comes_once():
    queue = WorkQueue(Clock())
    for key in "aab":
        queue.add(key)
    assert [queue.take(), queue.take()] == ["a", "b"]
    assert queue.depth() == 0


def test_the_earliest_time_counts():
    clock = Clock()
    queue = WorkQueue(clock)
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
    queue = WorkQueue(Clock())
    queue.add("a")
    assert queue.take() == "a"
    queue.add("a")
    queue.add("b")
    assert queue.take() == "b"
    queue.done("a")
    assert queue.take() == "a"


def test_what_waits_longest_is_told():
    clock = Clock()
    queue = WorkQueue(clock)
    assert queue.longest_wait() == 0
    queue.add("a")
    queue.add("later", 100)
    clock.now = 7
    assert queue.longest_wait() == 7
    queue.take()
    clock.now = 9
    assert queue.longest_wait() == 2


def test_everybody_goes_home_when_it_is_closed():
    queue = WorkQueue(Clock())
    taken = []
    threads = [threading.Thread(target=lambda: taken.append(queue.take())) for _ in range(3)]
    for thread in threads:
        thread.start()
    queue.close()
    for thread in threads:
        thread.join(10)
    assert taken == [None] * 3
