"""The Kubernetes operator as a process, on a real API server, with a stand-in for scheduler and kubelets."""

import random
import time
from datetime import timedelta

import pytest
from kubernetes import client

from streamapp_core.deployment.app_record import LaunchCause
from streamapp_core.deployment.driver_reports import PROGRESS, DriverPhase, ProgressReport
from streamapp_core.deployment.kubernetes_names import EXECUTOR_ID_LABEL
from streamapp_core.job_model.stored_job_model import read_job_model
from support.kubelet import Kubelet
from support.operated_apps import drivers, launch, leftovers
from support.operator_process import OperatorProcess
from support.shop_resources import SPEC
from support.waiting import eventually

NAMESPACE = "operated"
TRIES = 3
"""So often the operator may show that it is in time: the machine may be busy at one of them."""
BROKEN = {"operators": [{"name": "per-item", "from": "order", "sendTo": "totals"}]}


@pytest.fixture(scope="module")
def namespace(api_client):
    """One namespace for all, under the restricted Pod Security level; each test has apps of other names."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    client.CoreV1Api(api_client).create_namespace({"metadata": {"name": NAMESPACE, "labels": labels}})
    return NAMESPACE


@pytest.fixture(scope="module", autouse=True)
def operator(operator_kubeconfig, namespace, tmp_path_factory):
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    with OperatorProcess(operator_kubeconfig, log, namespaces=namespace) as operator:
        yield operator


@pytest.fixture(autouse=True)
def kubelet(api_client, namespace):
    """The stand-in; an app's name tells what becomes of its pods."""
    with Kubelet(api_client, namespace) as kubelet:
        yield kubelet


def spark_makes_executors(core, namespace, documents, numbers):
    """Make executor pods as Spark does of the template it was given."""
    template = launch(documents).executor_template
    main = {**template["spec"]["containers"][0], "image": "registry.invalid/streamapp:1"}
    for number in numbers:
        labels = {**template["metadata"]["labels"], EXECUTOR_ID_LABEL: str(number)}
        metadata = {"name": f"placed-1-exec-{number}", "labels": labels}
        core.create_namespaced_pod(
            namespace, {"metadata": metadata, "spec": {**template["spec"], "containers": [main]}}
        )


def test_an_app_has_a_network_policy_that_is_written_once(shop, core, api_client, namespace, documents_of):
    shop.apply(namespace, "isolated")
    assert eventually(lambda: shop.condition(namespace, "DriverReady", "isolated") == ("True", "Running"))
    policies = client.NetworkingV1Api(api_client)
    policy = policies.read_namespaced_network_policy("isolated-streamapp", namespace)
    driver = core.read_namespaced_pod("isolated-driver-1", namespace)
    (role,) = policy.spec.pod_selector.match_expressions
    assert policy.spec.pod_selector.match_labels.items() <= driver.metadata.labels.items()
    assert driver.metadata.labels[role.key] in role.values
    among, pages = policy.spec.ingress
    assert among._from[0].pod_selector == policy.spec.pod_selector
    assert (pages._from, [port.port for port in pages.ports]) == (None, [8080])

    policies.delete_namespaced_network_policy("isolated-streamapp", namespace)

    def made_again():
        found = policies.list_namespaced_network_policy(namespace, label_selector="streamapp.dev/app=isolated").items
        return found and found[0].metadata.uid != policy.metadata.uid and found[0]

    again = eventually(made_again)
    shop.edit(namespace, "isolated", suspend=True)
    assert eventually(lambda: shop.get(namespace, "isolated")["status"]["phase"] == "Suspended")
    found = policies.read_namespaced_network_policy("isolated-streamapp", namespace)
    assert found.metadata.resource_version == again.metadata.resource_version


def test_an_app_starts_and_its_executors_become_processors(shop, core, namespace, documents_of):
    shop.apply(namespace, "placed")
    documents = documents_of(namespace, "placed")
    assert eventually(lambda: shop.condition(namespace, "DriverReady", "placed") == ("True", "Running"))
    spark_makes_executors(core, namespace, documents, (1, 2))

    def seated():
        stored = read_job_model(documents)
        return {p.executor for p in stored.model.processors.values()} == {"1", "2"} and stored

    stored = eventually(seated)
    pods = core.list_namespaced_pod(namespace, label_selector=EXECUTOR_ID_LABEL).items
    assert {p.location for p in stored.model.processors.values()} == {pod.metadata.uid for pod in pods}
    report = ProgressReport(
        run_id=stored.model.run_id,
        epoch=1,
        phase=DriverPhase.RUNNING,
        since=launch(documents).at + timedelta(seconds=5),
        version=stored.model.version,
        running=("0", "1"),
    )
    documents.put(PROGRESS, report.to_bytes())
    assert eventually(lambda: shop.condition(namespace, "Ready", "placed") == ("True", "Running"))
    assert shop.get(namespace, "placed")["status"]["processors"] == {"ready": 2}


def test_a_broken_edit_is_refused_within_5_seconds_and_harms_nothing(shop, core, namespace):
    shop.apply(namespace, "broken")
    assert eventually(lambda: shop.condition(namespace, "DriverReady", "broken") == ("True", "Running"))
    before = core.read_namespaced_pod("broken-driver-1", namespace)

    def accepted(status):
        return eventually(lambda: shop.condition(namespace, "Accepted", "broken")[0] == status)

    def seconds_to_refuse():
        shop.edit(namespace, "broken", operators=SPEC["operators"])
        assert accepted("True")
        began = time.monotonic()
        shop.edit(namespace, "broken", **BROKEN)
        assert accepted("False")
        return time.monotonic() - began

    assert any(seconds_to_refuse() < 5 for _ in range(TRIES))
    assert shop.get(namespace, "broken")["status"]["problems"]
    after = core.read_namespaced_pod("broken-driver-1", namespace)
    assert (after.metadata.uid, after.metadata.deletion_timestamp) == (before.metadata.uid, None)


def test_stuck_drivers_say_why_within_15_seconds(shop, namespace):
    reasons = {
        "image-pull-back-off": "ImagePullFailed",
        "unschedulable": "Unschedulable",
        "crash-loop-back-off": "CrashLoop",
        "config-error": "ConfigError",
        "mount-error": "FailedMount",
    }

    def seconds_to_tell(number):
        began = time.monotonic()
        expected = {f"stuck-{number}-{fate}": ("True", reason) for fate, reason in reasons.items()}
        for name in expected:
            shop.apply(namespace, name)

        def told():
            return {name: shop.condition(namespace, "Degraded", name) for name in expected}

        assert eventually(lambda: told() == expected), told()
        return time.monotonic() - began

    assert any(seconds_to_tell(number) < 15 for number in range(TRIES))


def test_a_pod_that_is_refused_takes_no_running_app_down_for_good(shop, core, namespace):
    """The namespace refuses pods that are not restricted; the deadline is short, as the test waits for it."""
    shop.apply(namespace, "upgraded")
    assert eventually(lambda: shop.condition(namespace, "DriverReady", "upgraded") == ("True", "Running"))
    privileged = {"spec": {"securityContext": {"runAsNonRoot": False}}}
    shop.edit(namespace, "upgraded", driver={"template": privileged}, upgrade={"deadline": "3s"})
    assert eventually(lambda: shop.condition(namespace, "Accepted", "upgraded") == ("False", "UpgradeRolledBack"))
    assert eventually(lambda: shop.condition(namespace, "DriverReady", "upgraded") == ("True", "Running"))
    (ready,) = [c for c in shop.get(namespace, "upgraded")["status"]["conditions"] if c["type"] == "DriverReady"]
    assert ready["observedGeneration"] == 1
    labelled = {"metadata": {"labels": {"team": "a"}}, "spec": None}
    shop.edit(namespace, "upgraded", driver={"template": labelled})
    assert eventually(lambda: core.list_namespaced_pod(namespace, label_selector="team=a").items)
    assert eventually(lambda: shop.condition(namespace, "DriverReady", "upgraded") == ("True", "Running"))
    assert shop.condition(namespace, "Accepted", "upgraded") == ("True", "Accepted")


def test_executors_that_a_quota_refuses_are_told(shop, core, namespace, api_client):
    """The quota is for pods of a priority that only these executors have; it is put aside in the end."""
    client.SchedulingV1Api(api_client).create_priority_class({"metadata": {"name": "narrow"}, "value": 1})
    none = {"pods": "0"}
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["narrow"]}
    quota = {
        "metadata": {"name": "narrow"},
        "spec": {"hard": none, "scopeSelector": {"matchExpressions": [scope]}},
    }
    core.create_namespaced_resource_quota(namespace, quota)
    counted = {"status": {"hard": none, "used": none}}  # as its controller does
    core.patch_namespaced_resource_quota_status("narrow", namespace, counted)
    shop.apply(namespace, "narrow", processors={"count": 2, "template": {"spec": {"priorityClassName": "narrow"}}})
    assert eventually(lambda: shop.condition(namespace, "ProcessorsReady", "narrow") == ("False", "Refused"))
    assert shop.condition(namespace, "DriverReady", "narrow") == ("True", "Running")
    fields = "involvedObject.name=narrow,reason=Refused"  # the event comes after the status
    events = eventually(lambda: core.list_namespaced_event(namespace, field_selector=fields).items)
    assert "exceeded quota: narrow" in events[0].message
    core.delete_namespaced_resource_quota("narrow", namespace)
    assert eventually(lambda: shop.condition(namespace, "Degraded", "narrow") == ("False", "AsExpected"))


def test_an_app_is_scaled_edited_suspended_and_resumed(shop, core, namespace, documents_of, kubectl):
    shop.apply(namespace, "led")
    documents = documents_of(namespace, "led")
    assert eventually(lambda: shop.condition(namespace, "DriverReady", "led") == ("True", "Running"))
    kubectl("scale", "streamapp/led", "--replicas=3", f"--namespace={namespace}")
    assert eventually(lambda: launch(documents).processors == 3)
    assert "led-driver-1" in drivers(core, namespace)
    shop.edit(namespace, "led", job={"commitInterval": "5s"})
    assert eventually(lambda: "led-driver-2" in drivers(core, namespace))
    assert launch(documents).cause is LaunchCause.EDITED
    shop.edit(namespace, "led", suspend=True)
    assert eventually(lambda: shop.condition(namespace, "DriverReady", "led") == ("False", "Suspended"))
    assert eventually(lambda: not [name for name in drivers(core, namespace) if name.startswith("led-")])
    shop.edit(namespace, "led", suspend=False)
    assert eventually(lambda: "led-driver-3" in drivers(core, namespace))
    assert launch(documents).cause is LaunchCause.RESUMED


def test_a_lost_record_is_recreated_and_a_lost_job_model_is_waited_for(shop, core, namespace, documents_of):
    shop.apply(namespace, "robbed")
    documents = documents_of(namespace, "robbed")
    assert eventually(lambda: shop.condition(namespace, "DriverReady", "robbed") == ("True", "Running"))
    before = read_job_model(documents).model
    core.delete_namespaced_config_map("robbed.record", namespace)
    assert eventually(lambda: "robbed-driver-2" in drivers(core, namespace))
    assert eventually(lambda: read_job_model(documents).epoch == 2)
    after = read_job_model(documents).model
    assert (after.run_id, after.tasks.keys()) == (before.run_id, before.tasks.keys())

    pointer = core.read_namespaced_config_map("robbed.job-model", namespace)
    core.delete_namespaced_config_map("robbed.job-model", namespace)
    assert eventually(lambda: shop.condition(namespace, "Planned", "robbed") == ("False", "JobModelLost"))
    pointer.metadata.resource_version = pointer.metadata.uid = None
    core.create_namespaced_config_map(namespace, pointer)
    assert eventually(lambda: shop.condition(namespace, "Planned", "robbed") == ("True", "Planned"))
    assert "robbed-driver-2" in drivers(core, namespace)


@pytest.mark.usefixtures("controllers")
def test_apps_made_and_deleted_at_random_leave_nothing_behind(shop, core, namespace):
    choice = random.Random(7)
    alive = []
    for number in range(50):
        name = f"random-{number}"
        shop.apply(namespace, name, deletionPolicy=choice.choice(["Retain", "Delete"]))
        alive.append(name)
        while alive and choice.random() < 0.45:
            shop.delete(namespace, alive.pop(choice.randrange(len(alive))))
    for name in alive:
        shop.delete(namespace, name)
    assert eventually(lambda: not [app for app in shop.all(namespace) if app["metadata"]["name"] in alive], 120)
    assert eventually(lambda: leftovers(core, namespace, "random-") == [], 120), leftovers(core, namespace, "random-")
    assert not [name for name in drivers(core, namespace) if name.startswith("random-")]
