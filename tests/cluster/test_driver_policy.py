"""The policy that keeps drivers to their app, on a real API server: what they do passes, all else is refused."""

from copy import deepcopy
from http import HTTPStatus

import pytest
from kubernetes import client, config

from streamapp_core.deployment.app_record import RECORD
from streamapp_core.deployment.driver_reports import PROGRESS
from streamapp_core.deployment.kubernetes_names import Role, document_name
from streamapp_operator.decide.manifests.executor_template import build_executor_template
from streamapp_operator.decide.manifests.pod_parts import build_labels
from support.chart import Chart
from support.observed_values import active
from support.waiting import eventually

HOME, NAMESPACE, RELEASE = "confining", "confined", "confined"
DRIVER_ROLE = f"{RELEASE}-streamapp-driver"
ALLOWED = {"serviceAccounts": ["loader"]}
OWN, OTHERS = "shop", "other"
SHARED, ANYTHING, LOADER = "shared", "anything", "loader"


@pytest.fixture(scope="module")
def namespace(api, api_client):
    """A namespace with drivers' accounts, one that two apps share, one that may do anything, and the policy."""
    core = client.CoreV1Api(api_client)
    for name in (HOME, NAMESPACE):
        core.create_namespace({"metadata": {"name": name}})
    chart = Chart(api.cluster.programs, api.cluster.environment)
    chart.install(RELEASE, HOME, {"allowed": ALLOWED, "rbac": {"aggregate": False}})
    roles = {
        f"{OWN}-driver": DRIVER_ROLE,
        f"{OTHERS}-driver": DRIVER_ROLE,
        SHARED: DRIVER_ROLE,
        ANYTHING: "cluster-admin",
    }
    for account, role in roles.items():
        core.create_namespaced_service_account(NAMESPACE, {"metadata": {"name": account}})
        subject = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
        binding = {"metadata": {"name": account}, "roleRef": reference, "subjects": [subject]}
        client.RbacAuthorizationV1Api(api_client).create_namespaced_role_binding(NAMESPACE, binding)
    for name in (f"{OWN}-driver-1", f"{OTHERS}-driver-1"):
        core.create_namespaced_pod(NAMESPACE, driver_pod(name))
    yield NAMESPACE
    chart.uninstall(RELEASE, HOME)


def driver_pod(name):
    spec = {"containers": [{"name": "driver", "image": "i"}], "serviceAccountName": SHARED}
    return {"metadata": {"name": name, "labels": build_labels(name.partition("-")[0], Role.DRIVER, 1)}, "spec": spec}


@pytest.fixture(scope="module")
def seen_by(api, namespace):
    """A function that returns clients of an account of the namespace, which the API server knows by now."""
    handles = []

    def seen_by(account, pod=""):
        cluster = api.seen_by_service_account(namespace, account, pod=pod)
        handle = config.new_client_from_config(str(cluster.kubeconfig))
        handles.append(handle)
        core = client.CoreV1Api(handle)
        assert eventually(lambda: may_list(core))
        return core

    yield seen_by
    for handle in handles:
        handle.close()


def may_list(core):
    try:
        return core.list_namespaced_pod(NAMESPACE)
    except client.ApiException:
        return None


@pytest.fixture(scope="module")
def driver(seen_by):
    """The driver of an app, confined as soon as the API server knows the policy."""
    core = seen_by(f"{OWN}-driver")
    assert eventually(lambda: refusal(lambda: create(core, pod(app=OTHERS))))
    return core


def refusal(act):
    """Return why the API server refuses something; None if it does not."""
    try:
        act()
    except client.ApiException as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        return error.body
    return None


def pod(name="shop-1-exec-1", app=OWN, role=Role.PROCESSOR, container=None, **fields):
    """Return the pod of an executor as Spark makes it of our template, with an image and other fields."""
    found = deepcopy(build_executor_template(app, active().app.spec, 1, None))
    found["metadata"] = {"name": name, "labels": build_labels(app, role, 1)}
    found["spec"]["containers"][0] |= {"image": "i", **(container or {})}
    found["spec"] |= {**fields, "volumes": [*found["spec"]["volumes"], *fields.get("volumes", ())]}
    return found


def config_map(name, labels=None, owner=None):
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": "u"}] if owner else []
    return {"metadata": {"name": name, "labels": labels or {}, "ownerReferences": owners}, "data": {"value": "1"}}


def labelled(app):
    return {"streamapp.dev/app": app}


def create(core, body):
    return core.create_namespaced_pod(NAMESPACE, body, dry_run="All")


def security(**fields):
    return {"container": {"securityContext": fields}}


def volume(**source):
    return {"volumes": [{"name": "more", **source}]}


def token(**fields):
    return volume(projected={"sources": [{"serviceAccountToken": {"path": "t", **fields}}]})


DONE = {
    "as the operator says": {},
    "with another account": {"serviceAccountName": LOADER},
    "with its own account, without a token": {"serviceAccountName": f"{OWN}-driver"},
    "with a token for a cloud": {"serviceAccountName": f"{OWN}-driver", **token(audience="sts.amazonaws.com")},
    "with a folder below an allowed one": volume(hostPath={"path": "/var/lib/streamapp/a"}),
    "with the allowed capability": security(capabilities={"add": ["NET_BIND_SERVICE"]}),
}
REFUSED = {
    "of another app": ({"app": OTHERS}, "changes only what has the label streamapp.dev/app=shop"),
    "another driver": ({"role": Role.DRIVER}, "processors only"),
    "with an account that nobody allowed": ({"serviceAccountName": "admin"}, "default account"),
    "with another app's account": (
        {"serviceAccountName": f"{OTHERS}-driver", "automountServiceAccountToken": False},
        "default account",
    ),
    "with a driver's token": (
        {"serviceAccountName": f"{OWN}-driver", "automountServiceAccountToken": True},
        "without its token",
    ),
    "with a driver's token in a volume": ({"serviceAccountName": f"{OWN}-driver", **token()}, "without its token"),
    "with a folder of the node": (volume(hostPath={"path": "/etc"}), "allowed.hostPaths"),
    "with a folder beside": (volume(hostPath={"path": "/var/lib/streamapp-2"}), "allowed.hostPaths"),
    "with a type of volume": (volume(nfs={"server": "s", "path": "/"}), "allowed.volumeTypes"),
    "privileged": (security(privileged=True), "privileged"),
    "with a capability": (security(capabilities={"add": ["SYS_ADMIN"]}), "allowed.capabilities"),
    "with a capability by its long name": (security(capabilities={"add": ["CAP_SYS_ADMIN"]}), "allowed.capabilities"),
    "in the node's network": ({"hostNetwork": True}, "network of the node"),
    "with a port of the node": ({"container": {"ports": [{"containerPort": 9, "hostPort": 9}]}}, "network of the node"),
    "among the node's processes": ({"hostPID": True}, "processes of the node"),
}


@pytest.mark.parametrize("fields", DONE.values(), ids=DONE)
def test_a_driver_creates_processors(driver, fields):
    assert refusal(lambda: create(driver, pod(**fields))) is None


@pytest.mark.parametrize("fields, said", REFUSED.values(), ids=REFUSED)
def test_a_driver_creates_no_other_pods(driver, fields, said):
    assert said in (refusal(lambda: create(driver, pod(**fields))) or "")


def test_a_driver_ends_its_own_pods_and_no_others(driver, api_client, namespace):
    admin = client.CoreV1Api(api_client)
    driver.create_namespaced_pod(namespace, pod("shop-1-exec-2"))
    driver.delete_namespaced_pod("shop-1-exec-2", namespace)
    admin.create_namespaced_pod(namespace, pod("other-1-exec-1", app=OTHERS))
    assert refusal(lambda: driver.delete_namespaced_pod("other-1-exec-1", namespace))
    selected = {"label_selector": f"streamapp.dev/app={OTHERS}"}
    assert refusal(lambda: driver.delete_collection_namespaced_pod(namespace, **selected))
    assert "deletion_timestamp" not in {
        name
        for name, value in admin.read_namespaced_pod("other-1-exec-1", namespace).metadata.to_dict().items()
        if value
    }
    driver.create_namespaced_pod(namespace, pod("shop-1-exec-3"))
    driver.delete_collection_namespaced_pod(
        namespace, label_selector="streamapp.dev/role=processor,streamapp.dev/app=shop"
    )


def test_a_driver_writes_its_reports_and_what_spark_needs_and_no_other_documents(driver, api_client, namespace):
    admin = client.CoreV1Api(api_client)
    progress, record = document_name(OWN, PROGRESS), document_name(OWN, RECORD)
    driver.create_namespaced_config_map(namespace, config_map(progress, labelled(OWN)))
    driver.replace_namespaced_config_map(progress, namespace, config_map(progress, labelled(OWN)))
    spark = config_map("spark-exec-1-conf-map", owner=f"{OWN}-driver-1")
    driver.create_namespaced_config_map(namespace, spark)
    driver.delete_collection_namespaced_config_map(namespace, field_selector="metadata.name=spark-exec-1-conf-map")
    for body in (
        config_map("settings"),
        config_map("settings", owner=f"{OTHERS}-driver-1"),
        config_map(document_name(OTHERS, PROGRESS), labelled(OTHERS)),
        config_map(record, labelled(OWN)),
        config_map(document_name(OWN, "job-model"), labelled(OWN)),
    ):
        assert refusal(lambda body=body: driver.create_namespaced_config_map(namespace, body))
    for name, app in ((record, OWN), (document_name(OTHERS, PROGRESS), OTHERS)):
        admin.create_namespaced_config_map(namespace, config_map(name, labelled(app)))
        assert refusal(
            lambda name=name: driver.replace_namespaced_config_map(name, namespace, config_map(name, labelled(OWN)))
        )
    taken = config_map(progress, labelled(OTHERS))
    assert refusal(lambda: driver.replace_namespaced_config_map(progress, namespace, taken))


def test_a_driver_s_secrets_are_its_own_and_no_tokens(driver, namespace):
    metadata = {"generateName": "shop-driver-1-", "labels": labelled(OWN)}
    driver.create_namespaced_secret(namespace, {"metadata": metadata, "stringData": {"spark": "s"}})
    stolen = {**metadata, "annotations": {"kubernetes.io/service-account.name": ANYTHING}}
    body = {"metadata": stolen, "type": "kubernetes.io/service-account-token"}
    assert "Opaque" in refusal(lambda: driver.create_namespaced_secret(namespace, body))
    others = {"metadata": {**metadata, "labels": labelled(OTHERS)}}
    assert refusal(lambda: driver.create_namespaced_secret(namespace, others))


def test_an_account_of_two_apps_goes_by_the_pod_of_its_token(driver, seen_by):
    of_shop, of_other = seen_by(SHARED, f"{OWN}-driver-1"), seen_by(SHARED, f"{OTHERS}-driver-1")
    assert refusal(lambda: create(of_shop, pod())) is None
    assert refusal(lambda: create(of_shop, pod(app=OTHERS)))
    assert refusal(lambda: create(of_other, pod(app=OTHERS))) is None
    assert refusal(lambda: create(of_other, pod()))
    assert refusal(lambda: create(seen_by(SHARED), pod(app=OTHERS))) is None


def test_nobody_else_is_confined(driver, seen_by, api_client):
    for core in (seen_by(ANYTHING), client.CoreV1Api(api_client)):
        assert refusal(lambda core=core: create(core, pod(app=OTHERS, hostNetwork=True))) is None
