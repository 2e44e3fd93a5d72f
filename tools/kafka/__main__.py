"""Runs a broker until Ctrl-C: `python -m tools.kafka [--port 9092]`."""

import argparse
import signal
import sys

from tools.kafka.broker import Broker, BrokerError
from tools.kafka.jars import default_cache, kafka_jars


def main() -> int:
    """Start the broker, print its address, wait for the end."""
    parser = argparse.ArgumentParser(prog="make kafka", description="Run a Kafka broker on this machine's loopback.")
    parser.add_argument("--port", type=int, default=0, help="of the broker; 0 (default) takes a free one")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Broker(kafka_jars(default_cache()), port=options.port) as broker:
            sys.stdout.write(f"{broker.bootstrap_servers}\n")
            sys.stderr.write("Kafka listens there until Ctrl-C; what it holds is removed then.\n")
            sys.stdout.flush()
            code = broker.wait()
            sys.stderr.write(f"Kafka has ended by itself:\n{broker.log()[-4000:]}")
            return code
    except KeyboardInterrupt:
        return 0
    except BrokerError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
