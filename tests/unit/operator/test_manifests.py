import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.deployment.template_merge import merge_template
from streamapp_core.job_model.job_model import JobModel, ProcessorModel, TaskModel
from streamapp_core.spec.parse import parse_document
from streamapp_operator.decide.manifests.access import build_driver_service, build_role_binding, build_service_account
from streamapp_operator.decide.manifests.cleanup_pod import build_cleanup_pods
from streamapp_operator.decide.manifests.driver_pod import build_driver_pod
from streamapp_operator.decide.manifests.executor_template import build_executor_template
from streamapp_operator.observe.observed_state import DriverBinding, DriverRole
from streamapp_operator.observe.resource_views import parse_app_resource
from support.operated import SHOP


def resource(**changes):
    spec = {**yaml.safe_load(SHOP), **changes}
    app = parse_app_resource(
        {"metadata": {"name": "shop", "namespace": "default", "uid": "u-1", "resourceVersion": "1"}, "spec": spec}
    )
    document = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "shop"}, "spec": spec}
    parsed = parse_document(document)
    assert not parsed.problems
    return app, parsed.app.spec


def driver(epoch=3, **changes):
    app, spec = resource(**changes)
    return build_driver_pod(app, spec, epoch)


def executors(model=None, **changes):
    _, spec = resource(**changes)
    return build_executor_template("shop", spec, 3, model)


def cleanup(**changes):
    app, spec = resource(**changes)
    return next(iter(build_cleanup_pods(app, spec, ["node-a"]).values()))


def model(*locations):
    tasks = {
        f"Partition {n}": TaskModel(ssps=(), changelog_partition=n, processor="0", location=location)
        for n, location in enumerate(locations)
    }
    return JobModel(version=1, run_id="r1", streams={}, tasks=tasks, processors={"0": ProcessorModel()})


@pytest.mark.parametrize("pod", [driver(), executors(), cleanup()], ids=["driver", "executors", "cleanup"])
def test_pods_are_restricted(pod):
    spec = pod["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    assert spec["enableServiceLinks"] is False


def test_a_driver_is_named_found_and_owned_by_its_epoch():
    pod = driver(epoch=3)
    assert pod["metadata"]["name"] == "shop-driver-3"
    assert pod["metadata"]["labels"] == {
        "streamapp.dev/app": "shop",
        "streamapp.dev/role": "driver",
        "streamapp.dev/epoch": "3",
    }
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("StreamApp", "u-1", True)
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("shop-driver-3", "shop-driver")


def test_a_driver_is_told_who_it_is():
    (container,) = driver(epoch=3)["spec"]["containers"]
    told = {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container["env"]}
    assert (told["STREAMAPP_APP"], told["STREAMAPP_NAMESPACE"], told["STREAMAPP_EPOCH"]) == ("shop", "default", "3")
    assert told["STREAMAPP_POD_IP"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert container["command"] == ["python3", "-m", "streamapp_runtime.kubernetes"]


def test_a_template_adds_to_a_driver_and_can_not_take_its_identity():
    template = {
        "metadata": {"labels": {"team": "a", "streamapp.dev/epoch": "9"}, "name": "other"},
        "spec": {
            "restartPolicy": "Always",
            "serviceAccountName": "other",
            "nodeSelector": {"disk": "ssd"},
            "containers": [
                {"name": "driver", "env": [{"name": "MINE", "value": "1"}]},
                {"name": "sidecar", "image": "sidecar:1"},
            ],
        },
    }
    pod = driver(epoch=3, driver={"template": template})
    assert pod["metadata"]["name"] == "shop-driver-3"
    assert pod["metadata"]["labels"]["streamapp.dev/epoch"] == "3"
    assert pod["metadata"]["labels"]["team"] == "a"
    assert (pod["spec"]["restartPolicy"], pod["spec"]["serviceAccountName"]) == ("Never", "shop-driver")
    assert pod["spec"]["nodeSelector"] == {"disk": "ssd"}
    main, sidecar = pod["spec"]["containers"]
    assert {"STREAMAPP_EPOCH", "MINE"} <= {entry["name"] for entry in main["env"]}
    assert sidecar["name"] == "sidecar"


def test_secrets_are_mounted_by_name_and_code_beside_the_app():
    kafka = {"bootstrapServers": "kafka:9092", "auth": {"secretName": "login", "mechanism": "SCRAM-SHA-512"}}
    pods = [
        make(systems={"kafka": {"kafka": kafka}}, pyFiles=["functions", "lib/more.zip"]) for make in (driver, executors)
    ]
    for pod in pods:
        mounts = {mount["mountPath"] for mount in pod["spec"]["containers"][0]["volumeMounts"]}
        assert {"/etc/streamapp/secrets/login", "/opt/streamapp/app/functions"} <= mounts
        assert "/opt/streamapp/app/lib/more.zip" not in mounts
        sources = [volume.get("secret") or volume.get("configMap") for volume in pod["spec"]["volumes"]]
        assert {"secretName": "login"} in sources
        assert {"name": "functions"} in sources


def test_executors_prefer_the_nodes_with_state_and_spread():
    spec = executors(model("node-a", "node-a", "node-b", None))["spec"]
    preferred = spec["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    weights = {p["preference"]["matchFields"][0]["values"][0]: p["weight"] for p in preferred}
    assert weights == {"node-a": 100, "node-b": 50}
    (spread,) = spec["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == ("kubernetes.io/hostname", "ScheduleAnyway")
    assert spread["labelSelector"]["matchLabels"]["streamapp.dev/role"] == "processor"


def test_executors_prefer_no_node_where_locations_are_none():
    assert "affinity" not in executors(model("uid-1"), processors={"state": {"emptyDir": {}}})["spec"]


@pytest.mark.parametrize(
    "state, volume",
    [
        ({"hostPath": "/s"}, {"name": "state", "hostPath": {"path": "/s", "type": "Directory"}}),
        ({"emptyDir": {"sizeLimit": "1Gi"}}, {"name": "state", "emptyDir": {"sizeLimit": "1Gi"}}),
        ({"volumeClaim": {"size": "1Gi"}}, None),
    ],
)
def test_state_lies_where_the_spec_says(state, volume):
    spec = executors(processors={"state": state})["spec"]
    assert next((v for v in spec["volumes"] if v["name"] == "state"), None) == volume


def test_the_service_names_drivers_before_they_are_ready():
    app, _ = resource()
    spec = build_driver_service(app)["spec"]
    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)
    assert spec["selector"] == {"streamapp.dev/app": "shop", "streamapp.dev/role": "driver"}


def test_an_account_has_the_drivers_role_and_its_token_is_mounted_nowhere():
    app, _ = resource()
    binding = build_role_binding(app, DriverBinding(account="mine", role=DriverRole(kind="Role", name="drivers")))
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "mine", "namespace": "default"}]
    assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == ("Role", "drivers")
    assert build_service_account(app)["automountServiceAccountToken"] is False


def test_state_is_removed_by_whoever_may_see_it():
    template = {"spec": {"tolerations": [{"operator": "Exists"}], "securityContext": {"runAsUser": 7}}}
    pod = cleanup(processors={"state": {"hostPath": "/s"}, "template": template})
    assert pod["spec"]["nodeName"] == "node-a"
    assert pod["spec"]["containers"][0]["command"] == ["rm", "-rf", "/var/lib/streamapp/state/u-1"]
    assert pod["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert pod["spec"]["securityContext"]["runAsUser"] == 7


JSON = st.recursive(
    st.integers() | st.text(max_size=3), lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=3))
def test_an_empty_template_changes_nothing(ours):
    assert merge_template(ours, {}) == ours


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=3), st.dictionaries(st.text(max_size=3), JSON, max_size=3))
def test_merging_a_template_twice_is_merging_it_once(ours, users):
    once = merge_template(ours, users)
    assert merge_template(once, users) == once


@pytest.mark.parametrize("pod", [driver(), executors()], ids=["driver", "executors"])
def test_pods_write_to_volumes_of_a_limited_size_only(pod):
    folders = [volume["emptyDir"] for volume in pod["spec"]["volumes"] if "emptyDir" in volume]
    assert folders
    assert all("sizeLimit" in folder for folder in folders)


def test_an_executor_has_a_folder_that_spark_takes_for_its_own():
    (mount,) = [
        m for m in executors()["spec"]["containers"][0]["volumeMounts"] if m["name"].startswith("spark-local-dir-")
    ]
    assert {"name": mount["name"], "emptyDir": {"sizeLimit": "1Gi"}} in executors()["spec"]["volumes"]


def test_a_template_sets_limits_of_cpu_and_room_and_lets_a_container_write():
    template = {
        "spec": {
            "containers": [
                {
                    "name": "driver",
                    "resources": {"limits": {"cpu": 2}},
                    "securityContext": {"readOnlyRootFilesystem": False},
                }
            ],
            "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "5Gi"}}],
        }
    }
    pod = driver(driver={"template": template})["spec"]
    (container,) = pod["containers"]
    assert container["resources"]["limits"] == {"cpu": 2, "memory": "1Gi"}
    assert container["securityContext"]["readOnlyRootFilesystem"] is False
    assert {"name": "tmp", "emptyDir": {"sizeLimit": "5Gi"}} in pod["volumes"]
