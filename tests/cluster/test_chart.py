"""The Helm chart as Helm renders it: what every value does, what is refused, and the least rights. No API server."""

import json
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml
from tools.cluster.binaries import kube_binaries
from tools.cluster.cached import default_cache
from tools.cluster.check import missing_for_light
from tools.images.base import OPERATOR

from streamapp_core.deployment.kubernetes_names import APP_LABEL, HTTP_PORT
from streamapp_operator.decide.manifests.access import build_driver_service
from streamapp_operator.observe.resource_views import parse_app_resource
from streamapp_operator.process.settings import Settings, read_settings
from support.chart import CHART, DRIVER_RIGHTS, HOME, Chart, defaults, lease_rights, leaves, rights
from support.machine import need
from support.operator_process import RULES

ROOT = Path(__file__).parents[2]
DIGEST = "sha256:" + 64 * "0"
VARIABLE = "STREAMAPP_OPERATOR_"
BIND = ("rbac.authorization.k8s.io", "clusterroles", "streamapp-driver", "bind")
RBAC = {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}


@pytest.fixture(scope="session")
def chart():
    need(missing_for_light())
    return Chart(kube_binaries(default_cache()))


def operator_rules(rendered):
    role = rendered.one("ClusterRole", "streamapp-operator") or rendered.all("Role")[0]
    return rights(role["rules"])


def monitor(rendered):
    return rendered.one("ServiceMonitor", "streamapp-operator")


def secrets(rendered):
    return {(name, verb) for _, resource, name, verb in operator_rules(rendered) if resource == "secrets"}


def webhook(rendered):
    (webhook,) = rendered.one("ValidatingWebhookConfiguration")["webhooks"]
    return webhook


SELECTED = {
    "matchLabels": {
        "app.kubernetes.io/name": "streamapp",
        "app.kubernetes.io/instance": "streamapp",
        "app.kubernetes.io/component": "operator",
    }
}
HOOKED = {"enabled": True}
WEBHOOK = "streamapp-operator-webhook"
ADMISSION = "admissionregistration.k8s.io"
MONITORED = {"enabled": True}
CLOSED = {"enabled": True}
TOLERATION = {"key": "infrastructure", "operator": "Exists"}
AFFINITY = {"podAntiAffinity": {}}
PEER = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}
EGRESS = {"ports": [{"port": 53, "protocol": "UDP"}]}
EXTRA = {"name": "HTTPS_PROXY", "value": "http://proxy:3128"}
DNS = {"options": [{"name": "ndots", "value": "2"}]}
FROM = {"secretRef": {"name": "more"}}
VOLUME = {"name": "more", "emptyDir": {}}
MOUNT = {"name": "more", "mountPath": "/more"}
SIDECAR = {"name": "proxy", "image": "proxy:1"}
CASES = {
    "fullnameOverride": ({"fullnameOverride": "a"}, lambda r: r.one("Deployment")["metadata"]["name"], "a-operator"),
    "commonLabels": (
        {"commonLabels": {"team": "t"}},
        lambda r: {item["metadata"]["labels"].get("team") for item in [*r.objects, r.pod]},
        {"t"},
    ),
    "image.registry": (
        {"image": {"registry": "r:5000"}},
        lambda r: r.container["image"],
        "r:5000/localhost/streamapp-operator:dev",
    ),
    "image.repository": ({"image": {"repository": "r/i"}}, lambda r: r.container["image"], "r/i:dev"),
    "image.tag": ({"image": {"tag": "1.2"}}, lambda r: r.container["image"], "localhost/streamapp-operator:1.2"),
    "image.tag: none": ({"image": {"tag": ""}}, lambda r: r.container["image"], "localhost/streamapp-operator:0.1.0"),
    "image.digest": (
        {"image": {"digest": DIGEST}},
        lambda r: r.container["image"],
        f"localhost/streamapp-operator@{DIGEST}",
    ),
    "image.pullPolicy": ({"image": {"pullPolicy": "Never"}}, lambda r: r.container["imagePullPolicy"], "Never"),
    "imagePullSecrets": (
        {"imagePullSecrets": [{"name": "login"}]},
        lambda r: r.pod["spec"]["imagePullSecrets"],
        [{"name": "login"}],
    ),
    "replicas": (
        {"replicas": 3},
        lambda r: (
            r.one("Deployment")["spec"]["replicas"],
            r.one("Deployment")["spec"]["strategy"]["type"],
            r.one("PodDisruptionBudget")["spec"]["selector"],
            [c["labelSelector"] for c in r.pod["spec"]["topologySpreadConstraints"]],
        ),
        (3, "RollingUpdate", SELECTED, [SELECTED, SELECTED]),
    ),
    "watch.namespaces": (
        {"watch": {"namespaces": ["a", "b"]}},
        lambda r: r.environment[VARIABLE + "NAMESPACES"],
        "a,b",
    ),
    "settings.workers": ({"settings": {"workers": 3}}, lambda r: r.environment[VARIABLE + "WORKERS"], "3"),
    "settings.executorTimeout": (
        {"settings": {"executorTimeout": 7.5}},
        lambda r: r.environment[VARIABLE + "EXECUTOR_TIMEOUT"],
        "7.5",
    ),
    "settings.partitionCountDebounce": (
        {"settings": {"partitionCountDebounce": 0}},
        lambda r: r.environment[VARIABLE + "PARTITION_COUNT_DEBOUNCE"],
        "0",
    ),
    "settings.resyncInterval": (
        {"settings": {"resyncInterval": 60}},
        lambda r: r.environment[VARIABLE + "RESYNC_INTERVAL"],
        "60",
    ),
    "settings.logLevel": (
        {"settings": {"logLevel": "DEBUG"}},
        lambda r: r.environment[VARIABLE + "LOG_LEVEL"],
        "DEBUG",
    ),
    "serviceAccount.create": (
        {"serviceAccount": {"create": False, "name": "mine"}},
        lambda r: (r.one("ServiceAccount"), r.pod["spec"]["serviceAccountName"]),
        (None, "mine"),
    ),
    "serviceAccount.name": (
        {"serviceAccount": {"name": "mine"}},
        lambda r: (
            r.one("ServiceAccount")["metadata"]["name"],
            r.pod["spec"]["serviceAccountName"],
            r.one("ClusterRoleBinding")["subjects"][0]["name"],
        ),
        ("mine", "mine", "mine"),
    ),
    "serviceAccount.annotations": (
        {"serviceAccount": {"annotations": {"a": "b"}}},
        lambda r: r.one("ServiceAccount")["metadata"]["annotations"],
        {"a": "b"},
    ),
    "rbac.create": (
        {"rbac": {"create": False}},
        lambda r: {item["metadata"]["name"] for item in r.objects if item["kind"] in RBAC},
        {"streamapp-view", "streamapp-edit"},
    ),
    "rbac.aggregate": (
        {"rbac": {"aggregate": False}},
        lambda r: {role["metadata"]["name"] for role in r.all("ClusterRole")},
        {"streamapp-operator", "streamapp-driver"},
    ),
    "rbac.secrets.read": ({"rbac": {"secrets": {"read": False}}}, secrets, set()),
    "rbac.secrets.names": ({"rbac": {"secrets": {"names": ["kafka"]}}}, secrets, {("kafka", "get")}),
    "webhook.enabled": (
        {"webhook": HOOKED},
        lambda r: (
            webhook(r)["clientConfig"]["service"]["name"],
            r.environment[VARIABLE + "WEBHOOK_HOST"],
            rights(r.one("ClusterRole", WEBHOOK)["rules"]),
        ),
        (
            WEBHOOK,
            f"{WEBHOOK}.home.svc",
            {(ADMISSION, "validatingwebhookconfigurations", "streamapp-operator", v) for v in ("get", "patch")},
        ),
    ),
    "webhook.enabled: in some namespaces": (
        {"webhook": HOOKED, "watch": {"namespaces": ["a"]}},
        lambda r: webhook(r)["namespaceSelector"]["matchExpressions"][0]["values"],
        ["a"],
    ),
    "webhook.enabled: through a network policy": (
        {"webhook": HOOKED, "networkPolicy": CLOSED},
        lambda r: [rule["ports"][0]["port"] for rule in r.one("NetworkPolicy")["spec"]["ingress"]],
        ["http", "webhook"],
    ),
    "webhook.failurePolicy": (
        {"webhook": {**HOOKED, "failurePolicy": "Fail"}},
        lambda r: webhook(r)["failurePolicy"],
        "Fail",
    ),
    "webhook.timeoutSeconds": (
        {"webhook": {**HOOKED, "timeoutSeconds": 9}},
        lambda r: webhook(r)["timeoutSeconds"],
        9,
    ),
    "webhook.certManager.enabled": (
        {"webhook": {**HOOKED, "certManager": {"enabled": True}}},
        lambda r: (
            r.one("Certificate")["spec"]["issuerRef"]["name"] == r.one("Issuer")["metadata"]["name"],
            r.one("Certificate")["spec"]["secretName"] == r.pod["spec"]["volumes"][1]["secret"]["secretName"],
            r.environment[VARIABLE + "WEBHOOK_CERTIFICATE"] == r.container["volumeMounts"][1]["mountPath"],
            r.one("ClusterRole", WEBHOOK),
        ),
        (True, True, True, None),
    ),
    "webhook.certManager.issuerRef": (
        {"webhook": {**HOOKED, "certManager": {"enabled": True, "issuerRef": {"name": "ours"}}}},
        lambda r: (r.one("Certificate")["spec"]["issuerRef"], r.one("Issuer")),
        ({"name": "ours"}, None),
    ),
    "metrics.service.enabled": ({"metrics": {"service": {"enabled": False}}}, lambda r: r.one("Service"), None),
    "metrics.service.port": (
        {"metrics": {"service": {"port": 80}}},
        lambda r: r.one("Service")["spec"]["ports"],
        [{"name": "http", "port": 80, "targetPort": "http"}],
    ),
    "metrics.serviceMonitor.enabled": (
        {"metrics": {"serviceMonitor": MONITORED}},
        lambda r: {item["metadata"]["name"] for item in r.all("ServiceMonitor")},
        {"streamapp-operator", "streamapp-apps"},
    ),
    "metrics.serviceMonitor.interval": (
        {"metrics": {"serviceMonitor": {**MONITORED, "interval": "5s"}}},
        lambda r: [endpoint["interval"] for item in r.all("ServiceMonitor") for endpoint in item["spec"]["endpoints"]],
        ["5s", "5s"],
    ),
    "metrics.serviceMonitor.labels": (
        {"metrics": {"serviceMonitor": {**MONITORED, "labels": {"release": "prometheus"}}}},
        lambda r: monitor(r)["metadata"]["labels"]["release"],
        "prometheus",
    ),
    "networkPolicy.apps.enabled": (
        {"networkPolicy": {"apps": {"enabled": False}}},
        lambda r: r.environment[VARIABLE + "ISOLATE_APPS"],
        "false",
    ),
    "networkPolicy.apps.metricsFrom": (
        {"networkPolicy": {"apps": {"metricsFrom": [PEER]}}},
        lambda r: json.loads(r.environment[VARIABLE + "APP_PAGES_FROM"]),
        [PEER],
    ),
    "networkPolicy.enabled": (
        {"networkPolicy": CLOSED},
        lambda r: (r.one("NetworkPolicy")["spec"]["policyTypes"], r.one("NetworkPolicy")["spec"]["ingress"]),
        (["Ingress"], [{"ports": [{"port": "http", "protocol": "TCP"}]}]),
    ),
    "networkPolicy.metricsFrom": (
        {"networkPolicy": {**CLOSED, "metricsFrom": [PEER]}},
        lambda r: r.one("NetworkPolicy")["spec"]["ingress"][0]["from"],
        [PEER],
    ),
    "networkPolicy.egress": (
        {"networkPolicy": {**CLOSED, "egress": [EGRESS]}},
        lambda r: (r.one("NetworkPolicy")["spec"]["policyTypes"], r.one("NetworkPolicy")["spec"]["egress"]),
        (["Ingress", "Egress"], [EGRESS]),
    ),
    "resources.requests": (
        {"resources": {"requests": {"cpu": 2}}},
        lambda r: r.container["resources"]["requests"],
        {"cpu": 2, "memory": "256Mi"},
    ),
    "resources.limits": (
        {"resources": {"limits": {"memory": "2Gi"}}},
        lambda r: r.container["resources"]["limits"],
        {"memory": "2Gi"},
    ),
    "podLabels": ({"podLabels": {"team": "t"}}, lambda r: r.pod["metadata"]["labels"]["team"], "t"),
    "podAnnotations": ({"podAnnotations": {"a": "b"}}, lambda r: r.pod["metadata"]["annotations"], {"a": "b"}),
    "priorityClassName": ({"priorityClassName": "p"}, lambda r: r.pod["spec"]["priorityClassName"], "p"),
    "nodeSelector": ({"nodeSelector": {"a": "b"}}, lambda r: r.pod["spec"]["nodeSelector"], {"a": "b"}),
    "tolerations": ({"tolerations": [TOLERATION]}, lambda r: r.pod["spec"]["tolerations"], [TOLERATION]),
    "affinity": ({"affinity": AFFINITY}, lambda r: r.pod["spec"]["affinity"], AFFINITY),
    "dnsConfig": ({"dnsConfig": DNS}, lambda r: r.pod["spec"]["dnsConfig"], DNS),
    "extraEnv": ({"extraEnv": [EXTRA]}, lambda r: r.container["env"][-1], EXTRA),
    "extraEnvFrom": ({"extraEnvFrom": [FROM]}, lambda r: r.container["envFrom"], [FROM]),
    "extraVolumes": ({"extraVolumes": [VOLUME]}, lambda r: r.pod["spec"]["volumes"][-1], VOLUME),
    "extraVolumeMounts": (
        {"extraVolumeMounts": [MOUNT]},
        lambda r: r.container["volumeMounts"][-1],
        MOUNT,
    ),
    "sidecars": ({"sidecars": [SIDECAR]}, lambda r: r.pod["spec"]["containers"][1], SIDECAR),
}
"""For every value (and its other branches, after a colon): values, what to look at, and what is there."""

REFUSED = {
    "an unknown value": ({"replica": 2}, "replica"),
    "a label that the chart gives": ({"commonLabels": {"app.kubernetes.io/name": "mine"}}, "app.kubernetes.io/name"),
    "too many operators": ({"replicas": 6}, "replicas"),
    "operators that share a webhook": ({"replicas": 2, "webhook": {"enabled": True}}, "certManager"),
    "an unknown value below": ({"metrics": {"service": {"type": "NodePort"}}}, "type"),
    "a word for a switch": ({"rbac": {"create": "no"}}, "boolean"),
    "a tag with a colon": ({"image": {"tag": "a:b"}}, "pattern"),
    "a repository with a digest": ({"image": {"repository": f"r@{DIGEST}"}}, "pattern"),
    "half a digest": ({"image": {"digest": "sha256:12"}}, "pattern"),
    "an unknown pull policy": ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    "a pull secret as text": ({"imagePullSecrets": ["login"]}, "object"),
    "a namespace twice": ({"watch": {"namespaces": ["a", "a"]}}, "are equal"),
    "no namespace's name": ({"watch": {"namespaces": ["A"]}}, "pattern"),
    "a list as text": ({"watch": {"namespaces": "a,b"}}, "array"),
    "no workers": ({"settings": {"workers": 0}}, "minimum"),
    "half a worker": ({"settings": {"workers": 1.5}}, "integer"),
    "a time with its unit": ({"settings": {"executorTimeout": "30s"}}, "number"),
    "an unknown level": ({"settings": {"logLevel": "TRACE"}}, "logLevel"),
    "no account": ({"serviceAccount": {"create": False}}, "minLength"),
    "a port too high": ({"metrics": {"service": {"port": 70000}}}, "maximum"),
    "a monitor of no Service": (
        {"metrics": {"service": {"enabled": False}, "serviceMonitor": {"enabled": True}}},
        "enabled",
    ),
    "a variable that the chart sets": ({"extraEnv": [{"name": "STREAMAPP_OPERATOR_WORKERS", "value": "1"}]}, "not"),
    "a name that is no beginning": ({"fullnameOverride": "1-a"}, "pattern"),
    "a label that is no text": ({"podLabels": {"a": 1}}, "string"),
    "an unknown affinity": ({"affinity": {"nodeAffinty": {}}}, "nodeAffinty"),
}


def branches(leaf):
    return [name for name in CASES if name.partition(":")[0] == leaf]


def test_the_chart_has_no_fault_that_helm_knows(chart):
    assert "1 chart(s) linted, 0 chart(s) failed" in chart.lint()


def test_each_value_is_tried_in_both_ways():
    assert {leaf for leaf, _ in leaves(defaults()) if not branches(leaf)} == set()
    assert {name.partition(":")[0] for name in CASES} <= {leaf for leaf, _ in leaves(defaults())}


@pytest.fixture(scope="session")
def as_it_is(chart):
    return chart.render()


def seen(look, rendered):
    """Look at what may not be there."""
    try:
        return look(rendered)
    except (KeyError, TypeError, IndexError, AttributeError):
        return None


@pytest.mark.parametrize("name", CASES)
def test_a_value_does_what_it_says(chart, as_it_is, name):
    values, look, expected = CASES[name]
    assert look(chart.render(values)) == expected
    if name not in ("metrics.service.enabled", "rbac.secrets.read"):
        assert seen(look, as_it_is) != expected


@pytest.mark.parametrize("values, word", REFUSED.values(), ids=REFUSED)
def test_values_that_can_t_be_right_are_refused(chart, values, word):
    assert word in chart.refusal(values)


def test_charts_that_contain_this_one_may_have_global_values(chart):
    assert chart.refusal({"global": {"anything": 1}}) == ""


def schemas(schema):
    yield schema
    for below in (*schema.get("properties", {}).values(), schema.get("items"), *schema.get("definitions", {}).values()):
        if isinstance(below, dict):
            yield from schemas(below)


def test_the_schema_names_every_value_and_lets_no_other_in():
    schema = json.loads((CHART / "values.schema.json").read_text())
    for part in schemas(schema):
        assert "properties" not in part or part["additionalProperties"] is False
    values = defaults()
    assert schema["properties"].keys() - {"global"} == values.keys()
    for leaf, _ in leaves(values):
        part = schema
        for name in leaf.split("."):
            part = part["properties"][name]


def test_the_settings_are_the_operator_s_and_have_its_defaults(chart, as_it_is):
    assert read_settings([], as_it_is.environment) == Settings(lease_namespace=HOME)
    whole = chart.render({"webhook": {**HOOKED, "certManager": {"enabled": True}}})
    told = {name.removeprefix(VARIABLE).lower() for name in whole.environment}
    assert told == set(Settings.__dataclass_fields__) - {"exit_after", "webhook_port"}
    assert Settings().webhook_port in {port["containerPort"] for port in whole.container["ports"]}
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert set(schema["properties"]["extraEnv"]["items"]["properties"]["name"]["not"]["enum"]) == set(whole.environment)


def test_it_is_of_our_version_and_runs_the_image_that_make_images_makes(as_it_is):
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    written = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (written["version"], written["appVersion"]) == (version, version)
    assert as_it_is.container["image"] == OPERATOR


def test_the_packed_chart_holds_the_definition(chart, tmp_path):
    (file,) = (CHART / "crds").iterdir()
    assert chart.definitions().strip().removeprefix("---").strip() == file.read_text().strip()
    with tarfile.open(chart.package(tmp_path)) as archive:
        packed = archive.extractfile(f"streamapp/crds/{file.name}").read().decode()
    assert packed == file.read_text()


@pytest.mark.parametrize(
    "release, name",
    [("streamapp", "streamapp"), ("prod", "prod-streamapp"), ("my-streamapp", "my-streamapp"), (53 * "a", 50 * "a")],
)
def test_names_are_made_of_the_release_s_and_stay_short_enough(chart, release, name):
    rendered = chart.render(release=release)
    assert rendered.one("Deployment")["metadata"]["name"] == f"{name}-operator"
    assert rendered.environment[VARIABLE + "DRIVER_ROLE"] == f"{name}-driver"
    assert rendered.one("ClusterRole", f"{name}-driver")


def test_the_operator_may_do_what_its_tests_allow_and_no_more(as_it_is):
    assert operator_rules(as_it_is) == rights(RULES)


def test_drivers_may_do_what_they_do_and_no_more(as_it_is):
    assert rights(as_it_is.one("ClusterRole", "streamapp-driver")["rules"]) == DRIVER_RIGHTS


def test_nobody_has_a_wildcard(as_it_is):
    for role in as_it_is.all("ClusterRole"):
        assert "*" not in json.dumps(role["rules"])


def test_in_namespaces_the_rights_are_the_same_and_end_there(chart):
    rendered = chart.render({"watch": {"namespaces": ["a", "b"]}, "rbac": {"aggregate": False}})
    assert not {"ClusterRole", "ClusterRoleBinding"} & rendered.kinds()
    namespaced = (rights(RULES) - {BIND}) | {(BIND[0], "roles", *BIND[2:])}
    found = {(role["metadata"]["namespace"], role["metadata"]["name"]): role for role in rendered.all("Role")}
    assert rights(found.pop((HOME, "streamapp-operator-lease"))["rules"]) == lease_rights("streamapp-operator")
    assert found.keys() == {(n, r) for n in "ab" for r in ("streamapp-operator", "streamapp-driver")}
    for (_, name), role in found.items():
        assert rights(role["rules"]) == (namespaced if name == "streamapp-operator" else DRIVER_RIGHTS)
    for binding in rendered.all("RoleBinding"):
        assert binding["roleRef"]["kind"] == "Role"
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "streamapp-operator", "namespace": "home"}]
    assert rendered.environment[VARIABLE + "DRIVER_ROLE_KIND"] == "Role"


def test_the_probes_ask_for_progress_and_give_a_slow_start_time(as_it_is):
    container = as_it_is.container
    (port,) = container["ports"]
    assert port == {"name": "http", "containerPort": Settings().http_port}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": "http"}
    start = container["startupProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] >= 120


def test_one_operator_ends_before_the_next_begins(as_it_is):
    spec = as_it_is.one("Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert "PodDisruptionBudget" not in as_it_is.kinds()


def test_what_finds_the_pod_fits_its_labels(chart):
    values = {"metrics": {"serviceMonitor": MONITORED}, "networkPolicy": CLOSED, "podLabels": {"a": "b"}}
    rendered = chart.render(values)
    labels = rendered.pod["metadata"]["labels"].items()
    service = rendered.one("Service")
    assert labels >= rendered.one("Deployment")["spec"]["selector"]["matchLabels"].items()
    assert labels >= service["spec"]["selector"].items()
    assert labels >= rendered.one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"].items()
    assert service["metadata"]["labels"].items() >= monitor(rendered)["spec"]["selector"]["matchLabels"].items()


@pytest.mark.parametrize("namespaces, selector", [([], {"any": True}), (["a"], {"matchNames": ["a"]})])
def test_the_drivers_of_watched_apps_are_scraped(chart, namespaces, selector):
    values = {"watch": {"namespaces": namespaces}, "metrics": {"serviceMonitor": MONITORED}}
    monitored = chart.render(values).one("ServiceMonitor", "streamapp-apps")["spec"]
    assert monitored["selector"] == {"matchExpressions": [{"key": APP_LABEL, "operator": "Exists"}]}
    assert monitored["namespaceSelector"] == selector
    metadata = {"name": "app", "namespace": "a", "uid": "u", "resourceVersion": "1"}
    service = build_driver_service(parse_app_resource({"metadata": metadata}))
    assert APP_LABEL in service["metadata"]["labels"]
    (endpoint,) = monitored["endpoints"]
    assert {port["port"] for port in service["spec"]["ports"] if port["name"] == endpoint["port"]} == {HTTP_PORT}


def test_a_pod_can_t_be_taken_from_the_deployment_by_labels(chart):
    labels = {"app.kubernetes.io/component": "mine", "app.kubernetes.io/name": "mine"}
    rendered = chart.render({"podLabels": labels})
    selector = rendered.one("Deployment")["spec"]["selector"]["matchLabels"]
    assert rendered.pod["metadata"]["labels"].items() >= selector.items()
