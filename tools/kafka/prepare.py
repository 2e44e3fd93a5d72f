"""Makes what brokers and schema registries of tests need, once: `python -m tools.kafka.prepare`."""

import sys
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tools.cluster.cached import default_cache, kept
from tools.kafka.broker import Broker
from tools.kafka.class_archive import FILE, archive_folder
from tools.kafka.jars import BrokerError, kafka_jars
from tools.kafka.registry import registry_archive

_END_SECONDS = 300
_TOPIC = "prepare"


def prepare(cache: Path) -> Path:
    """Return the folder of Kafka's jars, fetched if they are missing; then brokers find their classes archived, too.

    Raises:
        BrokerError: Java or Maven is missing, or the download failed, or a broker does not start.
    """
    jars = kafka_jars(cache)
    kept(cache, archive_folder(jars).name, lambda work: _archive(jars, work / FILE), what="archiving Kafka's classes")
    return jars


def _archive(jars: Path, archive: Path) -> None:
    """Have a broker write the classes at its end that it has loaded for its start, a topic and a transaction."""
    with Broker(jars, java_options=[f"-XX:ArchiveClassesAtExit={archive}"]) as broker:
        address: dict[str, str | int | float | bool] = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 2}
        admin = AdminClient(address)
        admin.create_topics([NewTopic(_TOPIC, 1)])[_TOPIC].result()
        producer = Producer({**address, "transactional.id": _TOPIC})
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce(_TOPIC, b"1")
        producer.commit_transaction()
        broker.terminate(_END_SECONDS)


def main() -> int:
    """Prepare brokers and registries, or say why that can't be."""
    try:
        prepare(default_cache())
        registry_archive(default_cache())
    except BrokerError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
