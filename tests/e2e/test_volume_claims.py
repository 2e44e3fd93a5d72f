"""State on volumes of its own on a real cluster: an executor that is replaced gets the volume of the one that died."""

from support import cluster_apps
from support.cluster_apps import eventually

APP = "claims"


def test_an_executor_that_dies_leaves_its_volume_to_the_next_one(cluster, namespace, images, operator, kafka):
    app = cluster_apps.Numbered(namespace, images[1], kafka, APP)
    claim = {"size": "100Mi", "storageClassName": "standard"}
    app.document["spec"]["processors"]["state"] = {"volumeClaim": claim}
    cluster_apps.apply(cluster, app.document)
    cluster_apps.wait_for(cluster, namespace, APP, "Ready", seconds=180)
    app.feed(2_000)
    volumes = claims_by_pod(cluster, namespace)
    victim = min(volumes)
    cluster_apps.kill(cluster, namespace, victim)
    app.feed(2_000)

    def replaced():
        found = claims_by_pod(cluster, namespace)
        return len(found) == len(volumes) and victim not in found

    assert eventually(replaced, 120)
    assert set(claims_by_pod(cluster, namespace).values()) == set(volumes.values())
    app.wait_until_all_came_out()


def claims_by_pod(cluster, namespace):
    """Return the claim of each executor's state."""
    return {
        pod["metadata"]["name"]: volume["persistentVolumeClaim"]["claimName"]
        for pod in cluster_apps.pods(cluster, namespace, APP, "processor")
        for volume in pod["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    }
