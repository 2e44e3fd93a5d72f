"""The flights example on a real cluster: the chart installed by Helm, Kafka beside it, the app applied to its end."""

import yaml

from support import cluster_apps, flights, flights_on_kafka


def test_the_flights_run_to_completion_and_their_results_are_duckdb_s(cluster, namespace, images, operator, kafka):
    flights_on_kafka.load(kafka.outside)
    document = yaml.safe_load((flights.EXAMPLE / "app-kafka.yaml").read_text())
    document["metadata"] = {"name": "flights", "namespace": namespace}
    document["spec"] |= {
        "image": images[1],
        "systems": {"kafka": {"kafka": {"bootstrapServers": kafka.inside}}},
        "processors": {"count": 2},
    }
    cluster_apps.apply(cluster, document)
    cluster_apps.wait_for(cluster, namespace, "flights", "Ready", seconds=180)
    cluster_apps.wait_for(cluster, namespace, "flights", "Completed", seconds=300)
    flights_on_kafka.check(kafka.outside)
    assert cluster_apps.pods(cluster, namespace, "flights", "processor") == []
