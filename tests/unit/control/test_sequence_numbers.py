"""Sequence numbers: a reader takes each message of a sender once and in order, and notices any that is missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.control.messages import MalformedMessage, MissingMessage
from streamapp_core.control.sequence_numbers import (
    ReceivedSequences,
    SentSequences,
    SequenceNumber,
    decode_key,
    encode_key,
)
from streamapp_core.ssp import Ssp

SENDERS = ("Partition 0", "Partition 7", "Merged ä")
PLACES = st.tuples(st.sampled_from(SENDERS), st.sampled_from([("by", 0), ("by", 1), ("again", 0)]))


def sent_messages(places):
    """Number messages as their senders do, some of which start again from their last checkpoint before each."""
    senders = {sender: SentSequences({"by": 2, "again": 1}) for sender in SENDERS}
    for offset, (sender, (stream, partition)) in enumerate(places):
        restarted = SentSequences({"by": 2, "again": 1})
        restarted.restore(senders[sender].snapshot())
        senders[sender] = restarted
        number = restarted.take_next(stream, partition)
        ssp = Ssp("kafka", stream, partition)
        yield ssp, decode_key(encode_key(sender, number), ssp=ssp, offset=offset)


def read(received, messages):
    """Read messages, by readers that start again from their last checkpoint before each."""
    for ssp, number in messages:
        restarted = ReceivedSequences()
        for stream, partitions in received.snapshot().items():
            for partition, last in partitions.items():
                restarted.restore(stream, partition, last)
        received = restarted
        received.take(ssp, number)


@given(st.lists(PLACES))
def test_what_is_sent_is_read(places):
    read(ReceivedSequences(), sent_messages(places))


@given(st.lists(PLACES, min_size=1), st.data())
def test_a_lost_message_is_noticed_with_the_next_of_its_sender_there(places, data):
    messages = list(sent_messages([*places, *places]))
    lost = data.draw(st.integers(0, len(places) - 1))
    ssp, number = messages.pop(lost)
    with pytest.raises(MissingMessage) as missing:
        read(ReceivedSequences(), messages)
    assert (missing.value.ssp, missing.value.offset) == (
        ssp,
        next(m.offset for s, m in messages[lost:] if (s, m.sender) == (ssp, number.sender)),
    )
    assert f"of {number.sender} in this partition comes where its message {number.number} was expected" in str(
        missing.value
    )


@given(st.lists(PLACES, min_size=1), st.data())
def test_a_message_that_comes_twice_is_noticed(places, data):
    messages = list(sent_messages(places))
    messages.append(data.draw(st.sampled_from(messages)))
    with pytest.raises(MissingMessage, match="it comes again"):
        read(ReceivedSequences(), messages)


def test_a_sender_takes_over_what_it_has_sent_to_the_streams_that_there_are():
    sent = SentSequences({"by": 2})
    sent.restore({"by": [4, 1], "gone": [9]})
    assert sent.take_next("by", 0) == 5
    assert (sent.has_taken("by", 1), sent.snapshot()) == (True, {"by": [5, 1]})
    assert SentSequences({"by": 2}).snapshot() == {}


@pytest.mark.parametrize(
    "key", [b"", b"7", b"7 ", b"seven Partition 0", b"Partition 0", b"-1 Partition 0", b"7" * 5_000 + b" p"]
)
def test_other_keys_are_refused_with_their_place(key):
    with pytest.raises(MalformedMessage, match=r"kafka\.by\[0\] at offset 3: its key is no sequence number"):
        decode_key(key, ssp=Ssp("kafka", "by", 0), offset=3)


def test_a_key_names_the_number_and_its_sender():
    assert encode_key("Partition 10", 42) == b"42 Partition 10"
    assert decode_key(b"42 Partition 10", ssp=Ssp("kafka", "by", 0), offset=3) == SequenceNumber("Partition 10", 42, 3)
