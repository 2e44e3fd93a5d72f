"""Prints the committed records of a topic, up to its end: `python -m tools.kafka.read HOST:PORT TOPIC`."""

import argparse
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition


def main() -> int:
    """Read partition after partition, from the beginning."""
    parser = argparse.ArgumentParser(prog="python -m tools.kafka.read", description=__doc__)
    parser.add_argument("bootstrap_servers")
    parser.add_argument("topic")
    options = parser.parse_args()
    consumer = Consumer(
        {
            "bootstrap.servers": options.bootstrap_servers,
            "group.id": "streamapp-read",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "log_level": 2,
        }
    )
    try:
        found = consumer.list_topics(options.topic, timeout=10).topics[options.topic]
    except KafkaException as failure:
        sys.stderr.write(f"{options.bootstrap_servers}: {failure.args[0].str()}\n")
        return 1
    if found.error is not None:
        sys.stderr.write(f"{options.topic}: {found.error.str()}\n")
        return 1
    for partition in sorted(found.partitions):
        consumer.assign([TopicPartition(options.topic, partition, 0)])
        while (record := consumer.poll()) is not None:
            error = record.error()
            if error is None:
                sys.stdout.write((record.value() or b"").decode() + "\n")
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client names it so
                break
            else:
                sys.stderr.write(f"{error.str()}\n")
                return 1
    consumer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
