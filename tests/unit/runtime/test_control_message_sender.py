"""When the watermarks of a processor's tasks are sent."""

import pytest

from streamapp_core.control.messages import END_OF_TIME
from streamapp_runtime.processor.control_message_sender import ControlMessageSender
from streamapp_runtime.tasks.task import Announcement


class Announcing:
    """A task whose watermark rises each time it has been sent."""

    name = "Partition 0"
    watermark = 0

    def unannounced(self, stream):
        return Announcement(watermark=self.watermark, idle=False)

    def has_risen(self, stream, news):
        return False

    def announce(self, stream, news):
        self.watermark = news.watermark + 1


class Writer:
    def __init__(self):
        self.sent = []

    def send_control(self, stream, message, now):
        self.sent.append(now)


@pytest.mark.parametrize(
    "times, sent",
    [
        ([1_000, 1_050, 1_100, 1_150], [1_000, 1_100]),
        ([10_000, 2_000, 2_050, 2_100], [10_000, 2_000, 2_100]),
    ],
    ids=["at an interval", "a clock that is put back"],
)
def test_watermarks_are_sent_at_an_interval_whatever_the_clock_does(times, sent):
    writer = Writer()
    sender = ControlMessageSender(writer, [Announcing()], {"by": 1}, interval=100)
    for now in times:
        sender.send(now)
    assert writer.sent == sent


def test_an_end_is_sent_at_once():
    writer, task = Writer(), Announcing()
    sender = ControlMessageSender(writer, [task], {"by": 1}, interval=100)
    sender.send(1_000)
    task.watermark = END_OF_TIME
    assert sender.has_unsent_ends()
    sender.send(1_001)
    assert writer.sent == [1_000, 1_001]
