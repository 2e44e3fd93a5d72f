"""Runs a broker, and perhaps a schema registry: `python -m tools.kafka [--port 9092] [--registry 8081]`."""

import argparse
import signal
import sys
from contextlib import ExitStack

from tools.kafka.broker import Broker, BrokerError
from tools.kafka.jars import default_cache, kafka_jars
from tools.kafka.registry import Registry


def main() -> int:
    """Start them, print their addresses, wait for the end."""
    parser = argparse.ArgumentParser(prog="make kafka", description="Run a Kafka broker on this machine's loopback.")
    parser.add_argument("--port", type=int, default=0, help="of the broker; 0 (default) takes a free one")
    parser.add_argument("--registry", type=int, metavar="PORT", help="of a schema registry; none runs without it")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ExitStack() as running:
            broker = running.enter_context(Broker(kafka_jars(default_cache()), port=options.port))
            sys.stdout.write(f"{broker.bootstrap_servers}\n")
            if options.registry is not None:
                registry = running.enter_context(Registry(default_cache(), options.registry))
                sys.stdout.write(f"{registry.url}\n")
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
