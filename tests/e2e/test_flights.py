"""The flights example on a real cluster: the chart installed by Helm, Kafka beside it, the app applied to its end."""

import yaml

from support import cluster_apps, flights, flights_on_kafka

WEATHER = flights.EXAMPLE.parent / "weather" / "app.yaml"


def joined(spec):
    """Have the flights example join the late flights with the weather, as the weather example does."""
    weather = yaml.safe_load(WEATHER.read_text())["spec"]
    join, reported, sent = (op for op in weather["operators"] if op["name"] in ("in-weather", "reported", "sent"))
    observations = {"system": "kafka", "format": "json", "key": "origin", "bounded": True}
    shape = {field: weather["streams"]["observations"][field] for field in ("schema", "eventTime")}
    spec["streams"] |= {
        "observations": observations | shape,
        "late-in-weather": {"system": "kafka", "format": "json", "partitions": 2},
    }
    spec["operators"] += [
        {"name": "late", "from": "flights", "filter": "dep_delay > 60"},
        join | {"from": "late", "join": join["join"] | {"with": "observations"}},
        reported,
        sent,
    ]


def test_the_flights_run_to_completion_and_their_results_are_duckdb_s(cluster, namespace, images, operator, kafka):
    flights_on_kafka.load(kafka.outside)
    flights_on_kafka.load_weather(kafka.outside)
    document = yaml.safe_load((flights.EXAMPLE / "app-kafka.yaml").read_text())
    document["metadata"] = {"name": "flights", "namespace": namespace}
    document["spec"] |= {
        "image": images[1],
        "systems": {"kafka": {"kafka": {"bootstrapServers": kafka.inside}}},
        "processors": {"count": 2},
    }
    joined(document["spec"])
    cluster_apps.apply(cluster, document)
    cluster_apps.wait_for(cluster, namespace, "flights", "Ready", seconds=180)
    cluster_apps.wait_for(cluster, namespace, "flights", "Completed", seconds=300)
    flights_on_kafka.check(kafka.outside)
    flights_on_kafka.check_weather(kafka.outside)
    assert cluster_apps.eventually(lambda: not cluster_apps.pods(cluster, namespace, "flights", "processor"), 120)
