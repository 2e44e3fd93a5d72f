import socket
import ssl
import threading
from contextlib import suppress
from http.client import HTTPConnection

import msgspec
import pytest

from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.errors import DriverLost
from streamapp_runtime.processor.driver_channel import Command, NoAnswer
from streamapp_runtime.processor.http_driver_channel import ChannelAddress, ChannelServer, HttpChannel
from streamapp_runtime.processor.processor_report import Incarnation, PartitionReport, ProcessorReport, StateReport
from streamapp_runtime.spark.channel_certificate import make_channel_certificate

ME = Incarnation(processor="0", epoch=3, version=2, number=7)
REPORT = ProcessorReport(
    incarnation=ME,
    states={"Partition 7": StateReport(kept=True, records=12, left=0)},
    opened=True,
    partitions={"flights": {7: PartitionReport(rows=5, offset=5, ended=False)}},
    watermarks={"flights": -1, "by": None},
    written={"out": 2},
    not_used={"hourly": {"late": 1}},
    bad_rows=("files.flights[0], offset 1: no double",),
    commits=4,
    committed={"flights": {7: 5}},
)


def registry():
    registry = ReportRegistry(lambda: 0.0)
    registry.register(ME)
    return registry


def answer(channel):
    """Report until there is an answer in time: on a slow machine it may come too late."""
    while True:
        with suppress(NoAnswer):
            return channel.report(REPORT)


def test_a_report_arrives_as_it_was_and_the_command_comes_back():
    driver = registry()
    with ChannelServer(driver.report, "secret") as server:
        channel = HttpChannel(server.address)
        assert answer(channel) is Command.RUN
        assert driver.reports() == {"0": REPORT}
        driver.drain({"0"})
        assert answer(channel) is Command.DRAIN


def test_a_report_without_the_token_is_refused():
    driver = registry()
    with ChannelServer(driver.report, "secret") as server:
        wrong = msgspec.structs.replace(server.address, token="guess")
        with pytest.raises(DriverLost, match="401"):
            answer(HttpChannel(wrong))
    assert driver.reports() == {}


def test_a_body_that_is_no_report_is_refused():
    with ChannelServer(registry().report, "secret") as server:
        connection = HTTPConnection(server.address.host, server.address.port, timeout=60)
        connection.request("POST", "/report", b"{}", {"Authorization": "Bearer secret"})
        assert connection.getresponse().status == 400
        connection.close()


def test_a_driver_that_is_gone_is_lost_at_once():
    with ChannelServer(registry().report, "secret") as server:
        channel = HttpChannel(server.address)
        answer(channel)
    with pytest.raises(DriverLost, match="the driver is gone"):
        channel.report(REPORT)


def test_a_driver_that_breaks_off_has_not_answered():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = ChannelAddress(host="127.0.0.1", port=listener.getsockname()[1], token="secret")

        def break_off():
            listener.accept()[0].close()

        driver = threading.Thread(target=break_off)
        driver.start()
        with pytest.raises(NoAnswer):
            HttpChannel(address).report(REPORT)
        driver.join()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return [make_channel_certificate(tmp_path_factory.mktemp("certificate")) for _ in range(2)]


def test_between_pods_reports_are_encrypted_by_the_drivers_certificate(certificates):
    driver = registry()
    with ChannelServer(driver.report, "secret", certificate=certificates[0]) as server:
        assert answer(HttpChannel(server.address)) is Command.RUN
        assert driver.reports() == {"0": REPORT}
        plain = msgspec.structs.replace(server.address, certificate="")
        with pytest.raises(NoAnswer):
            HttpChannel(plain).report(REPORT)


def test_a_server_with_another_certificate_gets_no_report(certificates):
    received = []
    with ChannelServer(received.append, "secret", certificate=certificates[0]) as server:
        other = msgspec.structs.replace(server.address, certificate=certificates[1].text)
        with pytest.raises(NoAnswer, match="certificate verify failed"):
            HttpChannel(other).report(REPORT)
    assert received == []


def test_clients_that_never_finish_the_handshake_hold_nobody_up(certificates):
    driver = registry()
    with ChannelServer(driver.report, "secret", certificate=certificates[0]) as server:
        address = (server.address.host, server.address.port)
        silent = [socket.create_connection(address) for _ in range(20)]
        assert answer(HttpChannel(server.address)) is Command.RUN
        for connection in silent:
            connection.close()


def test_older_versions_of_tls_are_refused(certificates):
    with ChannelServer(registry().report, "secret", certificate=certificates[0]) as server:
        context = ssl.create_default_context(cadata=certificates[0].text)
        context.check_hostname = False
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with (
            socket.create_connection((server.address.host, server.address.port)) as connection,
            pytest.raises(ssl.SSLError),
        ):
            context.wrap_socket(connection)


def test_the_key_stays_in_the_drivers_memory(tmp_path):
    certificate = make_channel_certificate(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["streamapp-driver.pem"]
    assert "PRIVATE" not in certificate.text
