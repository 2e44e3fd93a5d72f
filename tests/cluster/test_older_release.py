"""An operator takes over the apps of an older release: the objects here are as that one has left them on a cluster.

Its objects have no places for defaults, failed upgrades and the first launch of a spec; its definition stored defaults
that today's has no more. Only the uid is another one, and with it the digest of the app's text.
"""

import json
from pathlib import Path

import pytest
from kubernetes import client

from streamapp_core.deployment.app_record import RECORD, AppRecord, LaunchCause, digest
from streamapp_core.job_model.job_model_shards import POINTER
from streamapp_core.job_model.stored_job_model import read_job_model
from support.kubelet import Fate, Kubelet
from support.operated_apps import drivers, launch
from support.operator_process import OperatorProcess
from support.waiting import eventually

LEFT = Path(__file__).parent / "older_release.json"
NAMESPACE, APP, UID = "older", "kept", "UID-OF-THE-APP"
"""The namespace is in the record, too."""


def with_digests(value):
    """Return a record's text with the digests of its apps as their texts are now."""
    for before, text in json.loads(value)["apps"].items():
        value = value.replace(before, digest(text))
    return value


def find(objects, name):
    (found,) = [item for item in objects if (item["kind"], item["metadata"]["name"]) == ("ConfigMap", name)]
    return found


def fields(value, path=()):
    """Name all fields of a document, the keys of maps among them; apps are by digests, which may be others."""
    for name, below in value.items():
        yield (*path, name)
        if isinstance(below, dict) and name != "apps":
            yield from fields(below, (*path, name))


@pytest.fixture(scope="module")
def core(api_client):
    return client.CoreV1Api(api_client)


@pytest.fixture(scope="module")
def left(api_client, core, kubectl):
    """What the older release has left, on the API server; record and pointer of the job model, as they were."""
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    left = json.loads(LEFT.read_text())
    apps = client.CustomObjectsApi(api_client)
    where = ("streamapp.dev", "v1alpha1", NAMESPACE, "streamapps")
    app = apps.create_namespaced_custom_object(*where, left["app"])
    apps.patch_namespaced_custom_object_status(*where, APP, {"status": left["app"]["status"]})
    text = json.dumps(left["objects"]).replace(UID, app["metadata"]["uid"])
    objects = json.loads(text)
    documents = {name: find(objects, f"{APP}.{name}")["data"] for name in (RECORD, POINTER)}
    documents[RECORD]["value"] = with_digests(documents[RECORD]["value"])
    kubectl("create", "--filename=-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return {name: json.loads(data["value"]) for name, data in documents.items()}


@pytest.fixture(scope="module")
def kubelet(api_client, left):
    with Kubelet(api_client, NAMESPACE) as kubelet:
        yield kubelet


@pytest.fixture(scope="module")
def operator(operator_kubeconfig, kubelet, tmp_path_factory):
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    with OperatorProcess(operator_kubeconfig, log, namespaces=NAMESPACE) as operator:
        yield operator


def tasks_of(documents):
    model = read_job_model(documents).model
    return {
        name: (task.changelog_partition, sorted(str(ssp) for ssp in task.ssps)) for name, task in model.tasks.items()
    }


@pytest.mark.usefixtures("operator")
def test_it_goes_on_without_a_restart(shop, core, documents_of, left):
    shop.apply(NAMESPACE, "later")
    assert eventually(lambda: shop.condition(NAMESPACE, "DriverReady", "later") == ("True", "Running"))
    assert eventually(lambda: shop.condition(NAMESPACE, "DriverReady", APP) == ("True", "Running"))
    assert shop.condition(NAMESPACE, "Accepted", APP) == ("True", "Accepted")
    assert shop.condition(NAMESPACE, "Planned", APP) == ("True", "Planned")
    assert f"{APP}-driver-2" in drivers(core, NAMESPACE)
    found = launch(documents_of(NAMESPACE, APP))
    assert (found.epoch, found.app, found.run_id) == (2, left[RECORD]["launch"]["app"], "first")


@pytest.mark.usefixtures("operator")
def test_a_driver_that_dies_is_restarted_and_one_of_an_older_image_finds_all_that_it_reads(
    core, kubelet, documents_of, left
):
    """Fields may be added to documents, as readers ignore those; none goes, and the version of the form is theirs."""
    documents = documents_of(NAMESPACE, APP)
    before = tasks_of(documents)
    kubelet.become(f"{APP}-driver-2", Fate.FAILED)
    assert eventually(lambda: f"{APP}-driver-3" in drivers(core, NAMESPACE))
    assert eventually(lambda: read_job_model(documents).epoch == 3)
    assert (launch(documents).cause, launch(documents).run_id) == (LaunchCause.DRIVER_DIED, "first")
    assert tasks_of(documents) == before
    assert AppRecord.read(documents, RECORD).launch.first_epoch is not None
    for name in (RECORD, POINTER):
        found = json.loads(core.read_namespaced_config_map(f"{APP}.{name}", NAMESPACE).data["value"])
        assert set(fields(left[name])) <= set(fields(found))
        assert found["schemaVersion"] == left[name]["schemaVersion"] == 1
        assert name == POINTER or found["launch"]["app"] in found["apps"]


@pytest.mark.usefixtures("operator")
def test_an_edit_is_taken_and_the_run_goes_on(shop, core, documents_of):
    documents = documents_of(NAMESPACE, APP)
    before = tasks_of(documents)
    epoch = launch(documents).epoch
    shop.edit(NAMESPACE, APP, job={"commitInterval": "7s"})
    assert eventually(lambda: launch(documents).epoch > epoch and launch(documents).cause is LaunchCause.EDITED)
    assert eventually(lambda: shop.condition(NAMESPACE, "DriverReady", APP) == ("True", "Running"))
    assert (launch(documents).run_id, tasks_of(documents)) == ("first", before)


@pytest.mark.usefixtures("operator", "controllers")
def test_it_is_deleted_with_all_that_was_left(shop, core, get):
    shop.delete(NAMESPACE, APP)
    selector = ("--namespace", NAMESPACE, "--selector", f"streamapp.dev/app={APP}")
    kinds = "configmaps,pods,services,serviceaccounts,rolebindings,networkpolicies"
    assert eventually(lambda: APP not in {app["metadata"]["name"] for app in shop.all(NAMESPACE)})
    assert eventually(lambda: get(kinds, *selector) == [], 120), get(kinds, *selector)
