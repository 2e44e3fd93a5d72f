"""Tasks that begin to read a stream between tasks after its first messages were deleted, as its topic wants it."""

from collections import Counter
from types import SimpleNamespace

import pytest

from streamapp_core.control.control_snapshot import ControlSnapshot
from streamapp_core.control.messages import MissingMessage
from streamapp_core.control.sequence_numbers import SentSequences, SequenceNumber
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_runtime.state.checkpoint import decode_checkpoint
from streamapp_runtime.tasks.task import Task

BY, ORDERS = Ssp("kafka", "by", 0), Ssp("kafka", "orders", 0)
SNAPSHOT = ControlSnapshot(watermarks={}, intermediate=(), sources=())


def task(starts, checkpoint=None):
    """Make a task that reads an input and a stream between tasks, and does nothing with them."""
    intermediate = SimpleNamespace(sent={"Partition 0": SentSequences({"by": 1})})
    return Task(
        SimpleNamespace(
            name="Partition 0",
            state=None,
            written=Counter(),
            bad_rows=BadRows(),
            processor=SimpleNamespace(
                writers=SimpleNamespace(intermediate=intermediate, dead_letters=None), clock_outlives_process=False
            ),
        ),
        checkpoint=None if checkpoint is None else decode_checkpoint(checkpoint),
        starts=starts,
        pipeline=SimpleNamespace(nodes=(), watermarks={}, counters=dict, resume=lambda _: None),
        control=SimpleNamespace(
            snapshot=lambda: SNAPSHOT, restore=lambda _: None, ended=lambda _: False, wake=lambda *_: None
        ),
        side_inputs=SimpleNamespace(reads=lambda _: False, positions={}),
        sources={"orders"},
        produces=(),
    )


def batch(sender, number, offset):
    sequence = (SequenceNumber(sender, number, offset),)
    return DecodedBatch(ssp=BY, next_offset=offset + 1, rows=None, sequence=sequence)


def test_the_first_message_of_each_sender_may_have_any_number_also_after_a_restart():
    reader = task({BY: 7, ORDERS: 7})
    reader.take(batch("Partition 0", 5, 7))
    reader = task({BY: 7, ORDERS: 7}, reader.checkpoint())
    reader.take(batch("Partition 1", 3, 8))
    reader.take(batch("Partition 0", 6, 9))
    with pytest.raises(MissingMessage, match=r"message 5 of Partition 1 .* its message 4 was expected: those between"):
        reader.take(batch("Partition 1", 5, 10))


def test_who_reads_from_the_first_message_on_misses_it():
    with pytest.raises(MissingMessage, match=r"message 2 of Partition 0 .* its message 1 was expected: those between"):
        task({BY: 0, ORDERS: 7}).take(batch("Partition 0", 2, 1))


def test_inputs_have_no_such_messages():
    assert {ssp.stream: position.late_start for ssp, position in task({BY: 7, ORDERS: 7}).positions.items()} == {
        "by": True,
        "orders": False,
    }
