"""The Helm chart as Helm renders it: what fits what, and the least rights. No API server."""

import json
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml
from tools.images.base import OPERATOR

from streamapp_core.deployment.kubernetes_names import APP_LABEL, HTTP_PORT
from streamapp_operator.decide.manifests.access import build_driver_service
from streamapp_operator.observe.resource_views import parse_app_resource
from streamapp_operator.process.settings import Settings, read_settings
from support.chart import CHART, DRIVER_RIGHTS, HOME, VARIABLE, lease_rights, monitor, operator_rules, rights
from support.operator_process import RULES

ROOT = Path(__file__).parents[2]
BIND = ("rbac.authorization.k8s.io", "clusterroles", "streamapp-driver", "bind")
ENABLED = {"enabled": True}


def test_the_chart_has_no_fault_that_helm_knows(chart):
    assert "1 chart(s) linted, 0 chart(s) failed" in chart.lint()


def test_charts_that_contain_this_one_may_have_global_values(chart):
    assert chart.refusal({"global": {"anything": 1}}) == ""


def test_the_settings_are_the_operator_s_and_have_its_defaults(chart, as_it_is):
    assert read_settings([], as_it_is.environment) == Settings(lease_namespace=HOME)
    whole = chart.render({"webhook": {**ENABLED, "certManager": {"enabled": True}}})
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
    values = {"metrics": {"serviceMonitor": ENABLED}, "networkPolicy": ENABLED, "podLabels": {"a": "b"}}
    rendered = chart.render(values)
    labels = rendered.pod["metadata"]["labels"].items()
    service = rendered.one("Service")
    assert labels >= rendered.one("Deployment")["spec"]["selector"]["matchLabels"].items()
    assert labels >= service["spec"]["selector"].items()
    assert labels >= rendered.one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"].items()
    assert service["metadata"]["labels"].items() >= monitor(rendered)["spec"]["selector"]["matchLabels"].items()


@pytest.mark.parametrize("namespaces, selector", [([], {"any": True}), (["a"], {"matchNames": ["a"]})])
def test_the_drivers_of_watched_apps_are_scraped(chart, namespaces, selector):
    values = {"watch": {"namespaces": namespaces}, "metrics": {"serviceMonitor": ENABLED}}
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
