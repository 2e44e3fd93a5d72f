"""Assignments are balanced, optimal and independent of the order of their inputs."""

import random
from collections import Counter
from itertools import combinations, product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.assignment import ANY_LOCATION, assign


@st.composite
def inputs(draw, *, most_tasks, most_processors):
    """Few locations and ids, so that they meet; some are gone, some unknown."""
    locations = st.sampled_from(["a", "b", "c", ANY_LOCATION])
    ids = [str(number) for number in range(most_processors + 2)]
    tasks = [f"Partition {number}" for number in range(draw(st.integers(0, most_tasks)))]
    processors = draw(st.dictionaries(st.sampled_from(ids[:-2]), locations, min_size=1))
    locality = draw(st.dictionaries(st.sampled_from(tasks), locations)) if tasks else {}
    previous = draw(st.dictionaries(st.sampled_from(tasks), st.sampled_from(ids))) if tasks else {}
    return tasks, processors, locality, previous


def earned(placed, processors, locality, previous):
    location = sum(processors[id_] == locality.get(task) != ANY_LOCATION for task, id_ in placed.items())
    return location, sum(previous.get(task) == id_ for task, id_ in placed.items())


def assert_balanced(placed, tasks, processors):
    assert placed.keys() == set(tasks)
    loads = Counter(placed.values())
    assert max(loads[id_] for id_ in processors) - min(loads[id_] for id_ in processors) <= 1


def best_by_trying_all(tasks, processors, locality, previous):
    ids = list(processors)
    candidates = (dict(zip(tasks, choice, strict=True)) for choice in product(ids, repeat=len(tasks)))
    floor, ceiling = len(tasks) // len(ids), -(-len(tasks) // len(ids))
    return max(
        earned(placed, processors, locality, previous)
        for placed in candidates
        if all(floor <= load <= ceiling for load in (list(placed.values()).count(id_) for id_ in ids))
    )


def best_by_networkx(tasks, processors, locality, previous):
    """Solve the same problem with a node per task: nothing is grouped."""
    many = len(tasks) + 1
    floor, extra = divmod(len(tasks), len(processors))
    network = nx.DiGraph()
    network.add_node("end", demand=len(tasks) - extra)
    network.add_node("extra", demand=extra)
    for id_ in processors:
        network.add_edge(("processor", id_), "end", capacity=floor)
        network.add_edge(("processor", id_), "extra", capacity=1)
    for task in tasks:
        network.add_node(("task", task), demand=-1)
        for id_ in processors:
            kept_location, kept_processor = earned({task: id_}, processors, locality, previous)
            network.add_edge(
                ("task", task), ("processor", id_), capacity=1, weight=-many * kept_location - kept_processor
            )
    return divmod(-nx.min_cost_flow_cost(network), many)


@given(inputs(most_tasks=6, most_processors=3))
def test_no_assignment_of_few_tasks_is_better(case):
    tasks, processors, locality, previous = case

    placed = assign(*case).processors

    assert_balanced(placed, tasks, processors)
    assert earned(placed, processors, locality, previous) == best_by_trying_all(*case)


@given(inputs(most_tasks=40, most_processors=9))
def test_networkx_finds_no_better_assignment(case):
    tasks, processors, locality, previous = case

    placed = assign(*case).processors

    assert_balanced(placed, tasks, processors)
    assert earned(placed, processors, locality, previous) == best_by_networkx(*case)


@given(inputs(most_tasks=12, most_processors=5), st.randoms(use_true_random=False))
def test_the_order_of_inputs_means_nothing(case, order):
    tasks, *mappings = case
    shuffled = [dict(order.sample(list(mapping.items()), len(mapping))) for mapping in mappings]

    again = assign(order.sample(tasks, len(tasks)), *shuffled)

    assert list(again.processors.items()) == list(assign(*case).processors.items())


@given(inputs(most_tasks=20, most_processors=6))
def test_an_assignment_that_is_in_place_stays(case):
    tasks, processors, _, _ = case
    placed = assign(*case).processors

    again = assign(tasks, processors, {task: processors[id_] for task, id_ in placed.items()}, placed)

    assert again.processors == placed


def test_tasks_that_another_processor_took_over_return_to_their_older_state():
    """Both of two processors have five tasks; one is away for a while, and comes back."""
    tasks = [f"Partition {number}" for number in range(10)]
    for mine in (tasks[:5], tasks[5:], tasks[::2]):
        other = [task for task in tasks if task not in mine]
        former = dict.fromkeys(mine, "a")

        placed = assign(tasks, {"0": "a", "1": "b"}, dict.fromkeys(tasks, "b"), dict.fromkeys(tasks, "1"), former)

        assert placed.processors == {**dict.fromkeys(mine, "0"), **dict.fromkeys(other, "1")}


@given(inputs(most_tasks=40, most_processors=9), st.data())
def test_older_states_change_neither_balance_nor_what_is_kept(case, data):
    tasks, processors, locality, previous = case
    former = {task: data.draw(st.sampled_from(["a", "b", "c", ANY_LOCATION])) for task in tasks}

    placed = assign(*case, former).processors

    assert_balanced(placed, tasks, processors)
    assert earned(placed, processors, locality, previous) == earned(
        assign(*case).processors, processors, locality, previous
    )


@given(inputs(most_tasks=30, most_processors=4), st.data())
def test_no_exchange_of_two_moved_tasks_brings_more_to_their_older_states(case, data):
    """Tasks of one location and one former processor are alike but for their older state."""
    tasks, processors, locality, previous = case
    former = {task: data.draw(st.sampled_from(["a", "b", "c"])) for task in tasks}

    placed = assign(*case, former).processors

    def returned(task, id_):
        return former[task] != locality.get(task) and processors[id_] == former[task]

    alike = {}
    for task in tasks:
        alike.setdefault((locality.get(task), previous.get(task)), []).append(task)
    for group in alike.values():
        for one, other in combinations(group, 2):
            now = returned(one, placed[one]) + returned(other, placed[other])
            assert now >= returned(one, placed[other]) + returned(other, placed[one])


def test_tasks_whose_older_state_is_where_there_is_no_room_do_not_leave_in_place_of_those_who_return():
    tasks = [f"Partition {number}" for number in range(9)]
    locality = {task: "b" if number < 6 else "c" for number, task in enumerate(tasks)}
    previous = {task: "1" if number < 6 else "2" for number, task in enumerate(tasks)}
    former = dict(zip(tasks, ["c", "a", "a", "a", "c", "c"], strict=False))

    placed = assign(tasks, {"0": "a", "1": "b", "2": "c"}, locality, previous, former).processors

    assert [task for task, id_ in placed.items() if id_ == "0"] == ["Partition 1", "Partition 2", "Partition 3"]


def test_a_large_assignment_keeps_what_fits():
    order = random.Random(1)
    tasks = [f"Partition {number}" for number in range(5000)]
    previous = {task: str(order.randrange(60)) for task in tasks}
    processors = {str(number): f"node-{number}" for number in range(60)}
    fair = len(tasks) // len(processors)
    crowds = Counter(previous.values())

    placed = assign(tasks, processors, {task: f"node-{id_}" for task, id_ in previous.items()}, previous).processors

    extras = min(len(tasks) % len(processors), sum(load > fair for load in crowds.values()))
    kept = sum(min(fair, load) for load in crowds.values()) + extras
    assert sum(placed[task] == previous[task] for task in tasks) == kept


def test_ids_and_tasks_come_in_natural_order():
    placed = assign(["t10", "t2", "t1"], {"10": "any", "9": "any"}, {}, {}).processors

    assert list(placed) == ["t1", "t2", "t10"]


def test_tasks_without_a_processor_are_an_error():
    with pytest.raises(ValueError, match="start at least one processor"):
        assign(["Partition 0"], {}, {}, {})
