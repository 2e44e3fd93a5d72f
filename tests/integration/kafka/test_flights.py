"""The flights example on Kafka finds, row for row, what DuckDB finds in the files."""

import uuid

import yaml

from support import apps, flights, flights_on_kafka


def test_the_flights_on_kafka_give_the_results_of_the_files(tmp_path, kafka):
    prefix = f"flights-{uuid.uuid4().hex[:8]}."
    flights_on_kafka.load(kafka.bootstrap_servers, prefix)
    document = yaml.safe_load((flights.EXAMPLE / "app-kafka.yaml").read_text())
    document["metadata"]["name"] += f"-{prefix[8:-1]}"
    document["spec"]["systems"]["kafka"]["kafka"]["bootstrapServers"] = kafka.bootstrap_servers
    for name, stream in document["spec"]["streams"].items():
        stream["name"] = prefix + name
    summary = apps.run(document, tmp_path)
    written = flights_on_kafka.check(kafka.bootstrap_servers, prefix)
    assert summary.not_used == {}
    assert summary.written["hourly"] == written
