"""Keys lie where Kafka's Java client puts them."""

import subprocess

import numpy as np
from tools.kafka.jars import default_cache, kafka_jars

from streamapp_core.murmur2 import murmur2, partitions
from support.kafka import ssp_of

COUNT = 7
KEYS = [f"{'ключ' if number % 5 == 0 else 'key'}-{number * number}" for number in range(300)]


def produce_with_java(address, topic):
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{kafka_jars(default_cache())}/*"]
    command += ["-Dlog4j2.level=ERROR", "-Dfile.encoding=UTF-8", "org.apache.kafka.tools.ConsoleProducer"]
    command += ["--bootstrap-server", address, "--topic", topic, "--reader-property", "parse.key=true"]
    lines = "".join(f"{key}\t{key}\n" for key in KEYS)
    subprocess.run(command, input=lines.encode(), check=True, timeout=240, capture_output=True)


def test_murmur2_agrees_with_the_java_clients_default_partitioner(kafka, topics):
    stream = topics.create("s", COUNT)
    produce_with_java(kafka.bootstrap_servers, stream.address)
    encoded = [key.encode() for key in KEYS]
    data = np.frombuffer(b"".join(encoded), np.uint8)
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    expected = {ssp_of(stream, partition): [] for partition in range(COUNT)}
    for key, partition in zip(encoded, partitions(murmur2(data, offsets), COUNT), strict=True):
        expected[ssp_of(stream, int(partition))].append(key)
    assert topics.values(stream) == expected
