"""The Helm chart on a real API server: it is taken, gives the rights it says, and the operator lives with them."""

import json
from datetime import UTC, datetime

import pytest
from kubernetes import client, config
from tools.cluster.errors import ClusterError

from streamapp_core.deployment.app_record import RECORD
from streamapp_core.deployment.driver_reports import PROGRESS
from streamapp_core.deployment.kubernetes_names import driver_account
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_systems.kubernetes.kubernetes_client import KubernetesClient
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore
from support.chart import DRIVER_RIGHTS, Chart, lease_rights, rights
from support.operated_apps import drivers
from support.operator_process import RULES, OperatorProcess
from support.waiting import eventually

HOME, WATCHED, OTHER = "chart-home", ("chart-a", "chart-b"), "chart-c"
NARROW, WIDE = "narrow", "wide"
VALUES = {
    NARROW: {"watch": {"namespaces": list(WATCHED)}, "rbac": {"aggregate": False}},
    WIDE: {"rbac": {"secrets": {"names": ["kafka"]}}},
}
"""Two releases: one with rights in two namespaces, one with rights in the whole cluster."""
VARIABLE = "STREAMAPP_OPERATOR_"
EVERYTHING = {
    "watch": {"namespaces": [WATCHED[0]]},
    "imagePullSecrets": [{"name": "login"}],
    "networkPolicy": {"enabled": True, "metricsFrom": [{"podSelector": {}}], "egress": [{"ports": [{"port": 53}]}]},
    "priorityClassName": "system-cluster-critical",
    "nodeSelector": {"a": "b"},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "podLabels": {"a": "b"},
    "podAnnotations": {"a": "b"},
    "commonLabels": {"team": "t"},
    "dnsConfig": {"options": [{"name": "ndots", "value": "2"}]},
    "extraEnvFrom": [{"secretRef": {"name": "more", "optional": True}}],
    "extraVolumes": [{"name": "more", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
    "sidecars": [{"name": "proxy", "image": "proxy:1"}],
    "replicas": 2,
    "extraEnv": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
}
EVERYBODY_S = {"authentication.k8s.io", "authorization.k8s.io"}
"""Groups of what everybody may ask about themselves."""


@pytest.fixture(scope="module")
def chart(api):
    return Chart(api.cluster.programs, api.cluster.environment)


@pytest.fixture(scope="module")
def notes(chart, api_client):
    """Both releases, in a namespace for restricted pods; what Helm said of each."""
    restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
    for name, labels in ((HOME, restricted), (OTHER, {}), *((name, {}) for name in WATCHED)):
        client.CoreV1Api(api_client).create_namespace({"metadata": {"name": name, "labels": labels}})
    yield {release: chart.install(release, HOME, values) for release, values in VALUES.items()}
    chart.uninstall(WIDE, HOME)


@pytest.fixture(scope="module")
def operator_of(api, notes):
    """The cluster as the operator of a release sees it; the API server knows its rights by then."""
    operators = {release: api.seen_by_service_account(HOME, f"{release}-streamapp-operator") for release in VALUES}
    for operator in operators.values():
        assert eventually(lambda operator=operator: all(allowed(operator, namespace) for namespace in WATCHED))
    return operators.get


def account(release):
    return f"system:serviceaccount:{HOME}:{release}-streamapp-operator"


def allowed(cluster, namespace):
    """Ask the API server what somebody may do in a namespace."""
    with config.new_client_from_config(str(cluster.kubeconfig)) as api_client:
        review = client.AuthorizationV1Api(api_client).create_self_subject_rules_review(
            {"spec": {"namespace": namespace}}
        )
    rules = [api_client.sanitize_for_serialization(rule) for rule in review.status.resource_rules]
    return {right for right in rights(rules) if right[0] not in EVERYBODY_S}


def operator_rights(release, kind, secret=""):
    bind = ("rbac.authorization.k8s.io", f"{kind}s", f"{release}-streamapp-driver", "bind")
    others = {right for right in rights(RULES) if right[1] not in ("clusterroles", "secrets")}
    return others | {bind, ("", "secrets", secret, "get")}


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_every_object_is_right_to_the_last_field(chart, kubectl, values):
    rendered = chart.render(values, release="tried", namespace=HOME)
    documents = json.dumps({"apiVersion": "v1", "kind": "List", "items": rendered.objects})
    made = kubectl("create", "--dry-run=server", "--validate=strict", "--filename=-", text=documents).splitlines()
    assert len(made) == len(rendered.objects)


@pytest.mark.usefixtures("notes")
def test_the_pod_is_a_restricted_one_that_can_t_write_to_its_image(chart, kubectl):
    template = chart.render(namespace=HOME).pod
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "operator"}, "spec": template["spec"]}
    arguments = ("--namespace", HOME, "--dry-run=server", "--validate=strict", "--filename=-")
    assert "created" in kubectl("create", *arguments, text=json.dumps(pod))
    (container,) = template["spec"]["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]


def test_the_notes_say_what_is_watched_and_after_an_upgrade_how_the_definition_follows(chart, notes):
    assert "the namespaces chart-a, chart-b" in notes[NARROW]
    assert "all namespaces" in notes[WIDE]
    assert "helm show crds" not in notes[NARROW]
    again = chart.install(NARROW, HOME, VALUES[NARROW])
    assert "helm show crds CHART | kubectl apply --server-side --force-conflicts --filename -" in again


def test_the_definition_follows_as_the_notes_say(chart, kubectl):
    said = kubectl("apply", "--server-side", "--force-conflicts", "--filename=-", text=chart.definitions())
    assert "streamapps.streamapp.dev serverside-applied" in said


def test_an_operator_of_namespaces_has_rights_there_and_nowhere_else(operator_of):
    for namespace in WATCHED:
        assert allowed(operator_of(NARROW), namespace) == operator_rights(NARROW, "role")
    assert allowed(operator_of(NARROW), OTHER) == set()
    assert allowed(operator_of(NARROW), HOME) == lease_rights(f"{NARROW}-streamapp-operator")


def test_an_operator_of_the_cluster_has_its_rights_everywhere(operator_of):
    for namespace in (OTHER, "kube-system"):
        assert allowed(operator_of(WIDE), namespace) == operator_rights(WIDE, "clusterrole", secret="kafka")


@pytest.mark.parametrize("release, kind", [(NARROW, "Role"), (WIDE, "ClusterRole")])
def test_an_operator_gives_away_the_drivers_role_and_none_with_more_rights_than_its_own(operator_of, release, kind):
    def give(kind, name):
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "given", "namespace": WATCHED[0]},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": WATCHED[0]}],
        }
        return operator_of(release).kubectl("create", "--dry-run=server", "--filename=-", text=json.dumps(binding))

    assert "created" in give(kind, f"{release}-streamapp-driver")
    for other in ("cluster-admin", "system:kube-dns"):
        with pytest.raises(ClusterError, match="forbidden"):
            give("ClusterRole", other)


@pytest.mark.usefixtures("controllers", "notes")
@pytest.mark.parametrize(
    "role, verbs",
    [
        ("view", {"get", "list", "watch"}),
        ("edit", {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}),
        ("admin", {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}),
    ],
)
def test_kubernetes_own_roles_hold_for_apps_too(api_client, role, verbs):
    scale = {"get"} if role == "view" else {"get", "update", "patch"}
    wanted = {("streamapps", verb) for verb in verbs} | {("streamapps/scale", verb) for verb in scale}

    def found():
        rules = client.RbacAuthorizationV1Api(api_client).read_cluster_role(role).rules or []
        given = rights([api_client.sanitize_for_serialization(rule) for rule in rules if rule.resources])
        return {(resource, verb) for group, resource, _, verb in given if group == "streamapp.dev"}

    assert eventually(lambda: found() == wanted | {("streamapps/status", "get")}), found()


@pytest.fixture(scope="module")
def began(api, get, operator_of, tmp_path_factory):
    """The operator as the release in two namespaces runs it; how many requests were made before it began."""
    before = len(api.requests())
    deployment = get("deployment", f"{NARROW}-streamapp-operator", "--namespace", HOME)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    settings = {item["name"].removeprefix(VARIABLE).lower(): item.get("value", "") for item in container["env"]}
    del settings["http_port"]
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    with OperatorProcess(operator_of(NARROW).kubeconfig, log, **settings):
        yield before


def test_an_app_lives_and_ends_in_a_watched_namespace_without_a_refusal(began, api, shop, core):
    namespace = WATCHED[1]
    shop.apply(namespace, "kept", deletionPolicy="Delete")
    shop.apply(OTHER, "ignored")
    assert eventually(lambda: drivers(core, namespace) == ["kept-driver-1"])
    assert eventually(lambda: shop.condition(namespace, "Planned", "kept") == ("True", "Planned"))
    shop.delete(namespace, "kept")
    assert eventually(lambda: shop.all(namespace) == [] and drivers(core, namespace) == [])
    assert "status" not in shop.get(OTHER, "ignored")
    asked = [request for request in api.requests()[began:] if request.user == account(NARROW)]
    assert {"list", "create", "patch", "delete"} <= {request.verb for request in asked}
    assert [request for request in asked if request.code == 403] == []


@pytest.mark.usefixtures("began")
def test_a_driver_does_its_work_with_its_rights_and_has_no_others(api, shop):
    namespace, app = WATCHED[0], "driven"
    owner = shop.apply(namespace, app)["metadata"]
    assert eventually(lambda: shop.condition(namespace, "Planned", app) == ("True", "Planned"))
    driver = api.seen_by_service_account(namespace, driver_account(app))
    assert eventually(lambda: allowed(driver, namespace) == DRIVER_RIGHTS), allowed(driver, namespace)
    assert allowed(driver, WATCHED[1]) == set()
    reference = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "name": app, "uid": owner["uid"]}
    kubernetes = KubernetesClient(kubeconfig=driver.kubeconfig)
    documents = ConfigMapMetadataStore(kubernetes, namespace, app, owners=[reference])
    assert documents.get(RECORD) is not None
    environment = DriverEnvironment(app=app, namespace=namespace, epoch=1, pod=f"{app}-driver-1", address="127.0.0.1")
    lease = DriverLease(kubernetes, environment, reference, lambda: datetime.now(UTC))
    for value in (b"{}", b'{"again": true}'):
        documents.put(PROGRESS, value)
        lease.renew()
    kubernetes.close()
