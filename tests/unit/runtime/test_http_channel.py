from http.client import HTTPConnection

import msgspec
import pytest

from streamapp_runtime.driver.board import Board
from streamapp_runtime.processor.channel import Command, DriverLost
from streamapp_runtime.processor.http_channel import ChannelServer, HttpChannel
from streamapp_runtime.processor.reports import PartitionReport, ProcessorReport

REPORT = ProcessorReport(
    processor="0",
    epoch=3,
    partitions={"flights": {7: PartitionReport(rows=5, offset=5, ended=False)}},
    watermarks={"flights": -1, "by": None},
    written={"out": 2},
    not_used={"hourly": {"late": 1}},
    bad_rows=("files.flights[0], offset 1: no double",),
    commits=4,
)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_report_arrives_as_it_was_and_the_command_comes_back():
    board = Board(epoch=3)
    with ChannelServer(board.report, "secret") as server:
        channel = HttpChannel(server.address, Clock())
        assert channel.report(REPORT) is Command.RUN
        assert board.reports() == {"0": REPORT}
        board.tell(Command.DRAIN)
        assert channel.report(REPORT) is Command.DRAIN


def test_a_processor_of_an_earlier_epoch_is_told_to_stop():
    board = Board(epoch=4)
    with ChannelServer(board.report, "secret") as server:
        assert HttpChannel(server.address, Clock()).report(REPORT) is Command.STOP
    assert board.reports() == {}


def test_a_report_without_the_token_is_refused():
    board = Board(epoch=3)
    with ChannelServer(board.report, "secret") as server:
        wrong = msgspec.structs.replace(server.address, token="guess")
        with pytest.raises(DriverLost, match="401"):
            HttpChannel(wrong, Clock()).report(REPORT)
    assert board.reports() == {}


def test_a_body_that_is_no_report_is_refused():
    with ChannelServer(Board(epoch=3).report, "secret") as server:
        connection = HTTPConnection(server.address.host, server.address.port, timeout=5)
        connection.request("POST", "/report", b"{}", {"Authorization": "Bearer secret"})
        assert connection.getresponse().status == 400
        connection.close()


def test_a_driver_that_is_gone_ends_the_processor():
    with ChannelServer(Board(epoch=3).report, "secret") as server:
        channel = HttpChannel(server.address, Clock())
        channel.report(REPORT)
    with pytest.raises(DriverLost, match="does not answer"):
        channel.report(REPORT)
