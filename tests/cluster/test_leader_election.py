"""Several operators: one acts; when it dies, stops or is cut off, another goes on, and no pod is doubled."""

import time
from contextlib import ExitStack

import pytest
import yaml
from kubernetes import client

from support.kubelet import Kubelet
from support.operated_apps import drivers
from support.operator_process import HOME, OperatorProcess
from support.tcp_proxy import TcpProxy
from support.waiting import eventually

LEASE = "elected"
SWITCH_SECONDS = 15.0
TRIES = 3
"""So often a switch may show that it is in time: the machine may be busy at one of them."""


@pytest.fixture(autouse=True)
def kubelet(api_client, namespace):
    with Kubelet(api_client, namespace) as kubelet:
        yield kubelet


@pytest.fixture
def lease(api_client, operator_kubeconfig):
    """The operators' account may use one lease, as the chart lets it."""
    access = client.RbacAuthorizationV1Api(api_client)
    rules = [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]}]
    metadata = {"name": LEASE, "namespace": HOME}
    access.create_namespaced_role(HOME, {"metadata": metadata, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": HOME}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": LEASE}
    access.create_namespaced_role_binding(HOME, {"metadata": metadata, "roleRef": role, "subjects": [subject]})
    yield LEASE
    access.delete_namespaced_role_binding(LEASE, HOME)
    access.delete_namespaced_role(LEASE, HOME)
    client.CoordinationV1Api(api_client).delete_namespaced_lease(LEASE, HOME)


@pytest.fixture
def operators(lease, operator_kubeconfig, namespace, tmp_path):
    """A function that starts an operator more, with another way to the API server if that is said."""
    with ExitStack() as stack:

        def start(name, kubeconfig=operator_kubeconfig):
            settings = {"namespaces": namespace, "lease_namespace": HOME, "lease_name": lease}
            return stack.enter_context(OperatorProcess(kubeconfig, tmp_path / f"{name}.log", **settings))

        yield start


def leads(operator):
    return operator.metric("streamapp_operator_leader") == 1


def through(proxy, kubeconfig, folder):
    """Write a kubeconfig whose server is reached through a proxy."""
    document = yaml.safe_load(kubeconfig.read_text())
    document["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
    path = folder / "proxied.kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path


def server_of(kubeconfig):
    host, port = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"].split("//")[1].split(":")
    return host, int(port)


def runs(shop, core, namespace, name):
    """Apply an app and wait for its driver; return after how many seconds it was there."""
    began = time.monotonic()
    shop.apply(namespace, name)
    assert eventually(lambda: f"{name}-driver-1" in drivers(core, namespace))
    return time.monotonic() - began


def epochs(core, namespace):
    """Return the pods of all drivers that there ever were, as far as they are there."""
    return sorted(drivers(core, namespace))


def test_one_acts_and_the_other_takes_over_when_it_is_killed(operators, shop, core, namespace):
    first = operators("first")
    assert eventually(lambda: leads(first))
    second = operators("second")
    runs(shop, core, namespace, "app-0")
    waits = []
    for number in range(1, TRIES + 1):
        first.kill()
        waits.append(runs(shop, core, namespace, f"app-{number}"))
        if waits[-1] < SWITCH_SECONDS:
            break
        assert eventually(lambda second=second: leads(second))
        first, second = second, operators(f"more-{number}")
    assert min(waits) < SWITCH_SECONDS, waits
    assert epochs(core, namespace) == [f"app-{number}-driver-1" for number in range(len(waits) + 1)]


def test_one_that_ends_in_order_is_followed_at_once(operators, shop, core, namespace):
    first = operators("first")
    assert eventually(lambda: leads(first))
    operators("second")
    first.terminate()
    runs(shop, core, namespace, "app")
    assert "the lease can't be released" not in first.output()


def test_one_that_stood_still_writes_nothing_afterwards_and_ends(operators, shop, core, namespace):
    first = operators("first")
    assert eventually(lambda: leads(first))
    second = operators("second")
    runs(shop, core, namespace, "before")
    with first.paused():
        shop.edit(namespace, "before", suspend=True)
        assert runs(shop, core, namespace, "during")
        assert leads(second)
    assert eventually(first.ended)
    assert "another operator acts from now on" in first.output()
    assert epochs(core, namespace) == ["during-driver-1"]


def test_one_that_is_cut_off_is_replaced(operators, operator_kubeconfig, shop, core, namespace, tmp_path):
    with TcpProxy(server_of(operator_kubeconfig)) as proxy:
        first = operators("first", through(proxy, operator_kubeconfig, tmp_path))
        assert eventually(lambda: leads(first))
        second = operators("second")
        runs(shop, core, namespace, "before")
        proxy.cut()
        runs(shop, core, namespace, "after")
        assert leads(second)
        assert eventually(first.ended, 240)  # its requests and watches wait for answers that never come
    assert epochs(core, namespace) == ["after-driver-1", "before-driver-1"]
