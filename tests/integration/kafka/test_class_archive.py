"""Brokers start with the classes that were archived for their Java and their jars."""

from pathlib import Path

from tools.kafka.class_archive import FILE, archive_folder
from tools.kafka.jars import default_cache, kafka_jars


def test_a_broker_takes_its_classes_from_the_archive(kafka):
    archive = archive_folder(kafka_jars(default_cache())) / FILE
    assert f"{archive}\n" in Path("/proc", str(kafka.pid), "maps").read_text()
