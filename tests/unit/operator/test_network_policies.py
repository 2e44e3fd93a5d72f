"""The NetworkPolicies of apps: one each, by the settings, made again when it goes; nobody else's is touched."""

import pytest

from streamapp_core.deployment.kubernetes_names import HTTP_PORT, Role
from streamapp_operator.act.actor import NameTakenError
from streamapp_operator.decide.manifests.network_policy import build_network_policy
from streamapp_operator.decide.manifests.pod_parts import build_labels
from streamapp_operator.observe.observed_state import AppNetwork
from streamapp_systems.kubernetes.kubernetes_api import Kind
from support.observed_values import SHOP
from support.operated import Operated

PEER = {"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}
ISOLATED = AppNetwork(isolated=True, pages_from=(PEER,))
POLICY = (Kind.NETWORK_POLICY, "default", "shop-streamapp")


def selected(selector, labels):
    """Return whether a label selector matches, as Kubernetes does."""
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        labels.get(rule["key"]) in rule["values"] for rule in selector.get("matchExpressions", ())
    )


@pytest.mark.parametrize("role", [Role.DRIVER, Role.PROCESSOR])
def test_an_app_s_pods_reach_each_other_on_all_ports_and_others_the_pages(role):
    spec = build_network_policy(SHOP, ISOLATED)["spec"]
    ours, others = build_labels("shop", role, 3), build_labels("other", role, 3)
    among, pages = spec["ingress"]
    for selector in (spec["podSelector"], among["from"][0]["podSelector"]):
        assert selected(selector, ours)
        assert not selected(selector, others)
        assert not selected(selector, {})
    assert "ports" not in among
    assert among["from"][0].keys() == {"podSelector"}
    assert pages == {"from": [PEER], "ports": [{"port": HTTP_PORT, "protocol": "TCP"}]}
    assert spec["policyTypes"] == ["Ingress"]


def test_without_peers_everybody_reaches_the_pages_and_nothing_else():
    _, pages = build_network_policy(SHOP, AppNetwork(isolated=True))["spec"]["ingress"]
    assert pages == {"ports": [{"port": HTTP_PORT, "protocol": "TCP"}]}


@pytest.fixture
def operated():
    operated = Operated()
    operated.apply().reconcile_all()
    return operated


def policy(operated):
    return operated.cluster.get(*POLICY)


def restart(operated, network):
    operated.network = network
    operated.start()
    operated.reconcile_all()


def test_a_policy_is_there_before_the_driver(operated):
    kinds = [action.value for action in operated.actions]
    assert kinds.index("create-network-policy") < kinds.index("create-driver")
    assert policy(operated)["spec"]["ingress"][0]["from"]


def test_a_policy_that_is_deleted_comes_back(operated):
    operated.runs()
    operated.cluster.delete(*POLICY)
    operated.reconcile_all()
    assert policy(operated) is not None


def test_other_settings_change_the_policies_of_running_apps_once(operated):
    operated.runs()
    restart(operated, ISOLATED)
    assert policy(operated)["spec"]["ingress"][1]["from"] == [PEER]
    written = operated.cluster.writes["replace", Kind.NETWORK_POLICY]
    restart(operated, ISOLATED)
    assert operated.cluster.writes["replace", Kind.NETWORK_POLICY] == written == 1


def test_without_isolation_a_policy_that_is_there_is_opened_and_none_is_made(operated):
    operated.runs()
    restart(operated, AppNetwork(isolated=False))
    assert policy(operated)["spec"]["ingress"] == [{}]
    other = Operated()
    other.network = AppNetwork(isolated=False)
    other.start()
    other.apply().reconcile_all()
    assert policy(other) is None


def test_somebody_else_s_policy_of_that_name_is_not_touched():
    operated = Operated()
    body = {"metadata": {"name": POLICY[2], "namespace": "default", "labels": {}}, "spec": {"podSelector": {}}}
    operated.cluster.create(Kind.NETWORK_POLICY, body)
    operated.apply()
    with pytest.raises(NameTakenError, match="NetworkPolicy shop-streamapp exists and does not belong to this app"):
        operated.reconcile_all()
    assert policy(operated)["spec"] == {"podSelector": {}}
