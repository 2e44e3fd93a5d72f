"""Placement: which executor each processor is bound to."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.deployment.kubernetes_names import Role
from streamapp_core.job_model.job_model import ProcessorModel
from streamapp_core.spec.processors import Location, LocationBy
from streamapp_operator.decide.placement import (
    Placement,
    bind,
    fill,
    find_homes,
    find_live_executors,
    keep_live,
    place,
    return_home,
)
from streamapp_operator.decide.task_assignment import apply_locality
from streamapp_operator.observe.resource_views import PodPhase
from support.observed_values import NOW, SECOND, bound_model, executor, locality, observe, unbound_model

TIMEOUT = timedelta(seconds=30)
BY_NODE = Location(by=LocationBy.NODE)


def on(**executors):
    """Bind executors by their nodes: `on(e1="a")` is the executor "1" on the node a."""
    return {name[1:]: ProcessorModel(executor=name[1:], location=node) for name, node in executors.items()}


def bound(**processors):
    """Bind processors to executors on nodes: `bound(p0="1a")` is the processor "0" on the executor "1" on a."""
    return {
        name[1:]: ProcessorModel(executor=executor[:-1], location=executor[-1]) for name, executor in processors.items()
    }


NOTHING = {"0": ProcessorModel(), "1": ProcessorModel()}


class TestLiveExecutors:
    @pytest.mark.parametrize(
        "pod, expected",
        [
            (executor(1, "a"), on(e1="a")),
            (executor(1, "a", phase=PodPhase.PENDING), {}),
            (executor(1, "a", phase=PodPhase.FAILED), {}),
            (executor(1, "a", deleting_at=NOW), {}),
            (executor(1, "a", epoch=2), {}),
            (executor(1, "a", role=Role.DRIVER), {}),
            (executor(1, "a", executor=None), {}),
        ],
        ids=["runs", "pending", "failed", "deleted", "of another epoch", "a driver", "without an id"],
    )
    def test_only_executors_that_run_count(self, pod, expected):
        assert find_live_executors(observe(pods=(pod,)), 1, BY_NODE) == expected

    def test_they_are_in_natural_order(self):
        pods = tuple(executor(number, "a") for number in (10, 9, 2, 1))
        assert list(find_live_executors(observe(pods=pods), 1, BY_NODE)) == ["1", "2", "9", "10"]


class TestKeep:
    @pytest.mark.parametrize(
        "previous, executors, expected",
        [
            (bound(p0="1a", p1="2b"), on(e1="a", e2="b"), bound(p0="1a", p1="2b")),
            (bound(p0="1a", p1="2b"), on(e2="b", e3="a"), bound(p1="2b")),
            (bound(p0="2b", p1="1a"), on(e1="a", e2="b"), bound(p0="2b", p1="1a")),
            (bound(p0="1a"), on(e1="c"), bound(p0="1c")),
            (bound(p0="1a", p7="2b"), on(e1="a", e2="b"), bound(p0="1a")),
            (NOTHING, on(e1="a"), {}),
            ({}, on(e1="a"), {}),
        ],
        ids=["both live", "one is lost", "crossed", "moved", "not wanted any more", "unbound", "new"],
    )
    def test_a_processor_keeps_the_executor_that_lives(self, previous, executors, expected):
        assert keep_live(previous, executors, ["0", "1"]) == expected


class TestReturnHome:
    @pytest.mark.parametrize(
        "bindings, executors, homes, expected",
        [
            ({}, on(e1="a", e2="b"), {"0": "b", "1": "a"}, bound(p0="2b", p1="1a")),
            ({}, on(e1="a", e2="a"), {"0": "a", "1": "a"}, bound(p0="1a", p1="2a")),
            ({}, on(e1="a", e2="b"), {"0": "a", "1": "a"}, bound(p0="1a")),
            ({}, on(e1="a"), {"0": "c"}, {}),
            ({}, on(e1="a"), {}, {}),
            (bound(p0="1a"), on(e1="a", e2="b"), {"0": "b", "1": "a"}, bound(p0="1a")),
            (bound(p0="1a"), on(e1="a", e2="a"), {"1": "a"}, bound(p0="1a", p1="2a")),
        ],
        ids=[
            "each to its own",
            "two at one location",
            "one place for two",
            "nobody at home",
            "no state",
            "what is bound stays",
            "beside another",
        ],
    )
    def test_a_processor_returns_to_where_most_of_its_state_is(self, bindings, executors, homes, expected):
        assert return_home(bindings, executors, ["0", "1"], homes) == expected

    def test_home_is_where_most_tasks_have_their_state(self):
        model = bound_model(node0="a")
        first, *others = model.tasks
        moved = {first: "z"} | dict.fromkeys(others, "b")
        tasks = {name: task.model_copy(update={"location": moved[name]}) for name, task in model.tasks.items()}
        assert find_homes(model.model_copy(update={"tasks": tasks})) == {"0": "b"}

    def test_without_state_there_is_no_home(self):
        assert find_homes(bound_model(node0="a")) == {}


class TestFill:
    @pytest.mark.parametrize(
        "bindings, executors, expected",
        [
            ({}, on(e1="a", e2="b"), bound(p0="1a", p1="2b")),
            ({}, on(e1="a", e2="b", e3="c"), bound(p0="1a", p1="2b")),
            ({}, on(e1="a"), bound(p0="1a")),
            (bound(p1="1a"), on(e1="a", e2="b"), bound(p0="2b", p1="1a")),
            (bound(p0="1a", p1="2b"), on(e1="a", e2="b", e3="c"), bound(p0="1a", p1="2b")),
            (bound(p0="1a"), on(e1="a"), bound(p0="1a")),
        ],
        ids=["all free", "one too many", "one too few", "one is taken", "nothing to do", "nothing free"],
    )
    def test_the_others_get_free_executors_in_order(self, bindings, executors, expected):
        assert fill(bindings, executors, ["0", "1"]) == expected


NODES = st.sampled_from("abc")


@st.composite
def placements(draw):
    """A job model with state somewhere, and the executors that live now: some of its own, some new, some lost."""
    nodes = draw(st.lists(NODES, min_size=1, max_size=5))
    model = bound_model(**{f"node{number}": node for number, node in enumerate(nodes)})
    homes = {name: draw(st.none() | NODES) for name in model.tasks}
    tasks = {name: task.model_copy(update={"location": homes[name]}) for name, task in model.tasks.items()}
    own = {binding.executor: binding for binding in model.processors.values()}
    kept = draw(st.sets(st.sampled_from(sorted(own))))
    new = draw(st.lists(NODES, max_size=5))
    executors = {name: own[name] for name in sorted(kept)}
    executors |= {str(90 + i): ProcessorModel(executor=str(90 + i), location=node) for i, node in enumerate(new)}
    wanted = [str(number) for number in range(draw(st.integers(1, 7)))]
    return model.model_copy(update={"tasks": tasks}), executors, wanted


class TestBind:
    @given(placements())
    def test_no_two_processors_have_one_executor(self, placement):
        bindings = bind(*placement)
        assert len({binding.executor for binding in bindings.values()}) == len(bindings)

    @given(placements())
    def test_as_many_are_bound_as_there_are_processors_and_executors(self, placement):
        model, executors, wanted = placement
        bindings = bind(model, executors, wanted)
        assert len(bindings) == min(len(executors), len(wanted))
        assert all(binding == executors[binding.executor] for binding in bindings.values())
        assert set(bindings) <= set(wanted)

    @given(placements())
    def test_nobody_who_has_a_live_executor_moves(self, placement):
        model, executors, wanted = placement
        kept = {
            id_: binding for id_, binding in model.processors.items() if id_ in wanted and binding.executor in executors
        }
        assert bind(model, executors, wanted).items() >= kept.items()

    @given(placements())
    def test_binding_again_changes_nothing(self, placement):
        model, executors, wanted = placement
        bindings = bind(model, executors, wanted)
        assert bind(model.model_copy(update={"processors": bindings}), executors, wanted) == bindings

    @given(placements())
    def test_nobody_is_elsewhere_while_an_executor_at_its_home_is_free(self, placement):
        model, executors, wanted = placement
        bindings = bind(model, executors, wanted)
        free = set(executors) - {binding.executor for binding in bindings.values()}
        homes = find_homes(model)
        moved = [id_ for id_ in wanted if bindings.get(id_) != model.processors.get(id_)]
        free_locations = {executors[name].location for name in free}
        assert all(bindings[id_].location == homes[id_] for id_ in moved if homes.get(id_) in free_locations)

    def test_without_enough_executors_the_last_processors_get_none(self):
        assert list(bind(unbound_model(3), on(e1="a", e2="b"), ["0", "1", "2"])) == ["0", "1"]


class TestPlace:
    MODEL = bound_model(node0="a", node1="b")
    BOTH = on(e1="a", e2="b")

    def place(self, model, executors, wanted=2, *, now=NOW, missing_since=None):
        return place(model, executors, wanted, now=now, missing_since=missing_since, timeout=TIMEOUT)

    def test_processors_are_bound_as_soon_as_there_are_enough_executors(self):
        placement = self.place(unbound_model(), self.BOTH, missing_since=NOW - SECOND)
        assert placement.bindings == bound(p0="1a", p1="2b")
        assert (placement.missing_since, placement.wake_at) == (None, None)

    @pytest.mark.parametrize(
        "model, wanted, expected",
        [
            (unbound_model(), 2, NOTHING),
            (MODEL, 2, bound(p0="1a", p1="2b")),
            (MODEL, 3, bound(p0="1a", p1="2b")),
        ],
        ids=["starting", "one is lost", "scaled up"],
    )
    def test_with_too_few_executors_nothing_moves_until_the_timeout(self, model, wanted, expected):
        placement = self.place(model, on(e1="a"), wanted)
        assert placement.bindings == expected
        assert (placement.missing_since, placement.wake_at) == (NOW, NOW + TIMEOUT)

    def test_the_time_runs_from_when_the_first_was_missing(self):
        placement = self.place(self.MODEL, on(e1="a"), now=NOW + TIMEOUT - SECOND, missing_since=NOW)
        assert placement.bindings == self.MODEL.processors
        assert (placement.missing_since, placement.wake_at) == (NOW, NOW + TIMEOUT)

    def test_after_the_timeout_the_others_go_on_alone(self):
        placement = self.place(self.MODEL, on(e2="b"), now=NOW + TIMEOUT, missing_since=NOW)
        assert placement.bindings == bound(p1="2b")
        assert (placement.missing_since, placement.wake_at) == (NOW, None)

    @pytest.mark.parametrize("model, expected", [(unbound_model(), NOTHING), (MODEL, bound(p0="1a", p1="2b"))])
    def test_the_time_does_not_run_while_there_is_no_executor_at_all(self, model, expected):
        placement = self.place(model, {}, now=NOW + TIMEOUT, missing_since=NOW)
        assert placement == Placement(bindings=expected)

    def test_fewer_processors_go_at_once(self):
        assert self.place(self.MODEL, self.BOTH, 1).bindings == bound(p0="1a")

    def test_scaled_down_below_what_is_there_waits_with_those_that_stay(self):
        model = bound_model(node0="a", node1="b", node2="c")
        assert self.place(model, on(e3="c"), 2).bindings == bound(p0="1a", p1="2b")

    def test_a_lost_executor_is_replaced_by_one_at_its_home_without_touching_the_others(self):
        model = apply_locality(self.MODEL, locality(self.MODEL))
        placement = self.place(model, on(e2="b", e3="c", e4="a"))
        assert placement.bindings == bound(p0="4a", p1="2b")
