"""Every move has a reason that a person understands."""

import pytest

from streamapp_core.assignment.task_moves import explain_moves

PROCESSORS = {"1": "node-a", "2": "node-b", "3": "any"}


@pytest.mark.parametrize(
    "source, target, locality, reason",
    [
        ("9", "2", "node-b", "processor 9 is gone; placed at node-b, where its state is"),
        ("9", "2", None, "processor 9 is gone; placed at node-b"),
        ("9", "3", "any", "processor 9 is gone; placed on processor 3"),
        ("9", "1", "node-z", "processor 9 is gone; no processor is at node-z, where its state is; placed at node-a"),
        (
            "1",
            "2",
            "node-a",
            "processor 1 has its share of tasks; node-a, where its state is, has its share of tasks; placed at node-b",
        ),
        ("1", "2", "node-b", "processor 1 is not at node-b; placed at node-b, where its state is"),
        ("3", "1", None, "processor 3 has its share of tasks; placed at node-a"),
    ],
)
def test_reason(source, target, locality, reason):
    task_locality = {} if locality is None else {"Partition 0": locality}

    (move,) = explain_moves({"Partition 0": target}, PROCESSORS, task_locality, {"Partition 0": source})

    assert (move.task, move.source, move.target, move.reason) == ("Partition 0", source, target, reason)


def test_tasks_that_stay_and_new_tasks_did_not_move():
    assigned = {"Partition 0": "1", "Partition 1": "2"}

    assert not list(explain_moves(assigned, PROCESSORS, {"Partition 0": "node-b"}, {"Partition 0": "1"}))
