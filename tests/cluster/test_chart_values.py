"""The values of the Helm chart: what each does, and what is refused. No API server."""

import json

import pytest

from streamapp_core.deployment.kubernetes_names import ROLE_LABEL, Role
from support.chart import CHART, VARIABLE, defaults, leaves, monitor, operator_rules, rights

DIGEST = "sha256:" + 64 * "0"
POLICY = "ValidatingAdmissionPolicy"
RBAC = {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}


def allowed(rendered):
    """Return what the operator is told of what apps may use."""
    return json.loads(rendered.environment[VARIABLE + "ALLOWED"])


def policy(rendered):
    """Return the conditions of the policy for drivers, as text; None if there is none."""
    found = rendered.one(POLICY)
    return None if found is None else json.dumps(found["spec"]["validations"])


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
SELECTOR = {"matchLabels": {"team": "a"}, "matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]}
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
    "watch.namespaceSelector": (
        {"watch": {"namespaceSelector": SELECTOR}},
        lambda r: (
            json.loads(r.environment[VARIABLE + "NAMESPACE_SELECTOR"]),
            r.one(POLICY + "Binding")["spec"]["matchResources"]["namespaceSelector"],
            {right for right in operator_rules(r) if right[1] == "namespaces"},
        ),
        (SELECTOR, SELECTOR, {("", "namespaces", "", "list"), ("", "namespaces", "", "watch")}),
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
    "jobs.serviceAccounts": (
        {"jobs": {"serviceAccounts": [{"name": "loader", "namespaces": ["a", "b"], "annotations": {"role": "r"}}]}},
        lambda r: (
            [
                (item["metadata"]["name"], item["metadata"]["namespace"], item["metadata"]["annotations"]["role"])
                for item in r.all("ServiceAccount")
                if item["metadata"]["name"] != "streamapp-operator"
            ],
            allowed(r)["serviceAccounts"],
        ),
        ([("loader", "a", "r"), ("loader", "b", "r")], ["loader"]),
    ),
    "defaults": (
        {"defaults": {"image": "i", "driver": {"memory": "2Gi"}}},
        lambda r: json.loads(r.environment[VARIABLE + "DEFAULTS"]),
        {"image": "i", "driver": {"memory": "2Gi"}},
    ),
    "allowed.serviceAccounts": (
        {"allowed": {"serviceAccounts": ["team-*"]}},
        lambda r: (allowed(r)["serviceAccounts"], "^team-.*$" in policy(r)),
        (["team-*"], True),
    ),
    "allowed.volumeTypes": (
        {"allowed": {"volumeTypes": ["nfs"]}},
        lambda r: (allowed(r)["volumeTypes"], "has(volume.nfs)" in policy(r), "has(volume.secret)" in policy(r)),
        (["nfs"], True, False),
    ),
    "allowed.hostPaths": (
        {"allowed": {"hostPaths": ["/disks"]}},
        lambda r: (allowed(r)["hostPaths"], "'/disks/'" in policy(r), "/var/lib" in policy(r)),
        (["/disks"], True, False),
    ),
    "allowed.capabilities": (
        {"allowed": {"capabilities": ["SYS_TIME"]}},
        lambda r: (allowed(r)["capabilities"], "['SYS_TIME']" in policy(r)),
        (["SYS_TIME"], True),
    ),
    "allowed.capabilities: all": (
        {"allowed": {"capabilities": ["ALL"]}},
        lambda r: (allowed(r)["capabilities"], "capabilities" in policy(r)),
        (["ALL"], False),
    ),
    "allowed.privileged": (
        {"allowed": {"privileged": True}},
        lambda r: (allowed(r)["privileged"], "privileged" in policy(r)),
        (True, False),
    ),
    "allowed.hostNetwork": (
        {"allowed": {"hostNetwork": True}},
        lambda r: (allowed(r)["hostNetwork"], "hostNetwork" in policy(r)),
        (True, False),
    ),
    "allowed.hostProcesses": (
        {"allowed": {"hostProcesses": True}},
        lambda r: (allowed(r)["hostProcesses"], "hostPID" in policy(r)),
        (True, False),
    ),
    "rbac.confineDrivers": ({"rbac": {"confineDrivers": "Never"}}, policy, None),
    "rbac.confineDrivers: in some namespaces": (
        {"rbac": {"confineDrivers": "Always"}, "watch": {"namespaces": ["a"]}},
        lambda r: r.one(POLICY + "Binding")["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"][0][
            "values"
        ],
        ["a"],
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
    "webhook.enabled: in namespaces of some labels": (
        {"webhook": HOOKED, "watch": {"namespaceSelector": SELECTOR}},
        lambda r: webhook(r)["namespaceSelector"],
        SELECTOR,
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
    "metrics.podMonitor.enabled": (
        {"metrics": {"podMonitor": MONITORED}},
        lambda r: r.one("PodMonitor")["spec"]["selector"]["matchLabels"],
        {ROLE_LABEL: Role.DRIVER.value},
    ),
    "metrics.podMonitor.interval": (
        {"metrics": {"podMonitor": {**MONITORED, "interval": "5s"}}},
        lambda r: [endpoint["interval"] for endpoint in r.one("PodMonitor")["spec"]["podMetricsEndpoints"]],
        ["5s"],
    ),
    "metrics.podMonitor.labels": (
        {"metrics": {"podMonitor": {**MONITORED, "labels": {"release": "prometheus"}}}},
        lambda r: r.one("PodMonitor")["metadata"]["labels"]["release"],
        "prometheus",
    ),
    "definition.upgrade": (
        {"definition": {"upgrade": True}},
        lambda r: [
            (item["kind"], item["metadata"]["annotations"]["helm.sh/hook"])
            for item in r.objects
            if item["metadata"]["name"] == "streamapp-definition"
        ],
        [(kind, "pre-upgrade") for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Job")],
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
    "namespaces by name and by label": (
        {"watch": {"namespaces": ["a", "b"], "namespaceSelector": SELECTOR}},
        "the namespaces a, b are named",
    ),
    "a selector as text": ({"watch": {"namespaceSelector": "team=a"}}, "object"),
    "an unknown part of a selector": ({"watch": {"namespaceSelector": {"team": "a"}}}, "team"),
    "a label that is none": ({"watch": {"namespaceSelector": {"matchLabels": {"team": "a,b"}}}}, "pattern"),
    "an unknown operator": (
        {"watch": {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Is", "values": ["b"]}]}}},
        "operator",
    ),
    "an operator without values": (
        {"watch": {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}},
        "values",
    ),
    "an operator with too many values": (
        {"watch": {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}}},
        "values",
    ),
    "a list as text": ({"watch": {"namespaces": "a,b"}}, "array"),
    "no workers": ({"settings": {"workers": 0}}, "minimum"),
    "half a worker": ({"settings": {"workers": 1.5}}, "integer"),
    "a time with its unit": ({"settings": {"executorTimeout": "30s"}}, "number"),
    "an unknown level": ({"settings": {"logLevel": "TRACE"}}, "logLevel"),
    "a default of what an app computes": ({"defaults": {"runId": "r"}}, "runId"),
    "an account that is no name": ({"allowed": {"serviceAccounts": ["A"]}}, "pattern"),
    "an account without a namespace": ({"jobs": {"serviceAccounts": [{"name": "a", "namespaces": []}]}}, "minItems"),
    "hostPath as a type": ({"allowed": {"volumeTypes": ["hostPath"]}}, "not"),
    "a folder that goes up": ({"allowed": {"hostPaths": ["/a/../etc"]}}, "pattern"),
    "a folder from nowhere": ({"allowed": {"hostPaths": ["a"]}}, "pattern"),
    "a capability in small letters": ({"allowed": {"capabilities": ["net_admin"]}}, "pattern"),
    "an unknown way to confine": ({"rbac": {"confineDrivers": True}}, "confineDrivers"),
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


def test_each_value_is_tried_in_both_ways():
    assert {leaf for leaf, _ in leaves(defaults()) if not branches(leaf)} == set()
    assert {name.partition(":")[0] for name in CASES} <= {leaf for leaf, _ in leaves(defaults())}


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
    if name not in ("metrics.service.enabled", "rbac.secrets.read", "rbac.confineDrivers"):
        assert seen(look, as_it_is) != expected


@pytest.mark.parametrize("values, word", REFUSED.values(), ids=REFUSED)
def test_values_that_can_t_be_right_are_refused(chart, values, word):
    assert word in chart.refusal(values)


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
