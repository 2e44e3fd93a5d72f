"""The broker of tests and laptops, as far as it needs no JVM."""

import socket
from pathlib import Path

import pytest
from tools.kafka.broker import Broker, BrokerError


def test_a_port_that_is_taken_is_named_and_nothing_is_started():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(BrokerError, match=rf"Port {port} of 127\.0\.0\.1 is taken"), Broker(Path(), port=port):
            pytest.fail("started")
