"""Runs the vectors of `assignment.json`."""

import random
from collections import Counter

from streamapp_core.assignment import ANY_LOCATION, assign


def run(vector):
    inputs = generate(**vector["generate"]) if "generate" in vector else read(vector)
    placed = assign(*inputs).processors
    tasks, processors, task_locality, previous = inputs
    expect = vector["expect"]

    assert placed.keys() == set(tasks)
    loads = Counter(placed.values())
    assert {loads[id_] for id_ in processors} <= {expect["minLoad"], expect["maxLoad"]}
    assert kept_location(placed, processors, task_locality) == expect["keptLocation"]
    assert kept_processor(placed, previous) == expect["keptProcessor"]
    assert placed == expect.get("exact", placed)
    assert assign(*shuffled(inputs)).processors == placed


def read(vector):
    processors = {id_: processor["location"] for id_, processor in vector["processors"].items()}
    return vector["tasks"], processors, vector["taskLocality"], vector["previous"]


def generate(*, seed, tasks, processors, oldProcessors, locations, noHistory, moved, anyEvery=None):  # noqa: N803
    state = seed

    def draw(bound):
        nonlocal state
        state = (1664525 * state + 1013904223) % 2**32
        return (state >> 16) % bound

    at = {
        str(i): ANY_LOCATION if anyEvery is not None and i % anyEvery == 0 else f"loc-{i % locations}"
        for i in range(processors)
    }
    names = [f"Partition {i}" for i in range(tasks)]
    task_locality, previous = {}, {}
    for name in names:
        before, history, move, elsewhere = draw(oldProcessors), draw(100), draw(100), draw(locations + 1)
        if history >= noHistory:
            previous[name] = str(before)
            task_locality[name] = f"loc-{elsewhere if move < moved else before % locations}"
    return names, at, task_locality, previous


def kept_location(placed, processors, task_locality):
    return sum(
        processors[id_] == task_locality.get(task) and processors[id_] != ANY_LOCATION for task, id_ in placed.items()
    )


def kept_processor(placed, previous):
    return sum(previous.get(task) == id_ for task, id_ in placed.items())


def shuffled(inputs):
    order = random.Random(0)
    tasks, *mappings = inputs
    return [
        order.sample(tasks, len(tasks)),
        *(dict(order.sample(list(mapping.items()), len(mapping))) for mapping in mappings),
    ]
