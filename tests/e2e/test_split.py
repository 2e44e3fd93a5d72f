"""Two StreamApps with a topic between them: the second waits for it, follows the first one, and completes with it."""

from support import cluster_apps
from support.split import Split
from support.waiting import eventually


def test_an_app_waits_for_another_one_and_completes_with_it(cluster, namespace, images, operator, kafka, tmp_path):
    split = Split(tmp_path, {"kafka": {"bootstrapServers": kafka.outside}}, name=f"{namespace}.split")
    split.write(hours=6, count=2)
    documents = {"first": split.first(bounded=True), "second": split.second(bounded=True)}
    for name, document in documents.items():
        document["metadata"] = {"name": name, "namespace": namespace}
        document["spec"] |= {"image": images[1], "systems": {"hub": {"kafka": {"bootstrapServers": kafka.inside}}}}
    cluster_apps.apply(cluster, documents["second"])
    refused = eventually(lambda: cluster_apps.status(cluster, namespace, "second").get("problems"), 120)
    assert [problem["code"] for problem in refused] == ["StreamNotFound"]
    cluster_apps.apply(cluster, documents["first"])
    for name in documents:
        cluster_apps.wait_for(cluster, namespace, name, "Completed", seconds=300)
    assert split.windows("second") == split.expected(6)
