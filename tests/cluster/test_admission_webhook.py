"""The validating webhook on a real API server: what dry runs and edits are told, and what passes without it."""

import json
import socket

import pytest
from kubernetes import client
from tools.cluster.binaries import kube_binaries
from tools.cluster.cached import default_cache
from tools.cluster.errors import ClusterError

from support.chart import Chart
from support.operated_apps import drivers
from support.operator_process import OperatorProcess
from support.shop_resources import SPEC
from support.waiting import eventually

HOME, NAMESPACE, OTHER, RELEASE = "webhook-home", "webhook-apps", "webhook-others", "hooked"
CONFIGURATION = f"{RELEASE}-streamapp-operator"
AGGREGATE = {"by": ["itme"], "select": "sum(amuont) as amount"}
BROKEN = [{"name": "per-item", "from": "orders", "aggregate": AGGREGATE}, {**SPEC["operators"][1], "sendTo": "total"}]


@pytest.fixture(scope="module")
def operator(api, api_client, tmp_path_factory):
    """The operator as the chart runs it, but that API servers find it on this machine."""
    core = client.CoreV1Api(api_client)
    for name in (HOME, NAMESPACE, OTHER):
        core.create_namespace({"metadata": {"name": name}})
    chart = Chart(kube_binaries(default_cache()), api.cluster.environment)
    chart.install(RELEASE, HOME, {"watch": {"namespaces": [NAMESPACE]}, "webhook": {"enabled": True}})
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    where = {"url": f"https://localhost:{port}/validate", "service": None}
    change = [{"op": "replace", "path": "/webhooks/0/clientConfig", "value": where}]
    patch = ("patch", "validatingwebhookconfiguration", CONFIGURATION, "--type=json", "--patch", json.dumps(change))
    api.cluster.kubectl(*patch)
    account = api.seen_by_service_account(HOME, CONFIGURATION)
    settings = {"webhook_host": "localhost", "webhook_port": port, "webhook_configuration": CONFIGURATION}
    roles = {"driver_role_kind": "Role", "driver_role": f"{RELEASE}-streamapp-driver"}
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    process = OperatorProcess(account.kubeconfig, log, namespaces=NAMESPACE, **roles, **settings)
    assert eventually(lambda: may_list(account))
    with process:
        assert eventually(lambda: trusted(api))
        yield process
    chart.uninstall(RELEASE, HOME)


def may_list(account):
    """Return whether the API server knows the rights of the operator's account by now."""
    try:
        return account.kubectl("auth", "can-i", "list", "streamapps", "--namespace", NAMESPACE)
    except ClusterError:
        return False


def trusted(api):
    (webhook,) = api.cluster.get("validatingwebhookconfiguration", CONFIGURATION)["webhooks"]
    return "caBundle" in webhook["clientConfig"]


@pytest.fixture
def dry_run(api, operator):
    """A function that applies an app in a dry run, and returns what kubectl prints, or the refusal."""

    def dry_run(namespace=NAMESPACE, name="tried", **changes):
        app = {
            "apiVersion": "streamapp.dev/v1alpha1",
            "kind": "StreamApp",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {**SPEC, **changes},
        }
        return api.cluster.kubectl("apply", "--dry-run=server", "--filename=-", text=json.dumps(app))

    return dry_run


def test_a_dry_run_shows_all_problems_of_a_spec(dry_run):
    assert "created (server dry run)" in dry_run()

    def refused():  # the API server learns of a changed configuration some time after it has stored it
        try:
            return dry_run(operators=BROKEN) and None
        except ClusterError as error:
            return str(error)

    said = eventually(refused)
    assert 'The StreamApp "tried" is invalid' in said
    assert "spec.operators[0].aggregate.by: " in said
    assert "spec.operators[0].aggregate.select: " in said
    assert "spec.operators[1].sendTo: " in said
    assert "UnknownColumn: " in said


def test_apps_of_namespaces_that_are_not_watched_are_not_judged(dry_run):
    assert "created (server dry run)" in dry_run(namespace=OTHER, operators=BROKEN)


def test_a_broken_edit_is_refused_and_the_app_lives_and_ends_as_without_a_webhook(operator, shop, core):
    shop.apply(NAMESPACE, "edited", deletionPolicy="Delete")
    assert eventually(lambda: drivers(core, NAMESPACE) == ["edited-driver-1"])
    with pytest.raises(client.ApiException) as refused:
        shop.edit(NAMESPACE, "edited", operators=BROKEN)
    causes = {cause["field"] for cause in json.loads(refused.value.body)["details"]["causes"]}
    assert {"spec.operators[0].aggregate.by", "spec.operators[1].sendTo"} <= causes
    with pytest.raises(client.ApiException, match="RunIdRequired"):
        shop.edit(NAMESPACE, "edited", streams={"orders": {"key": "amount"}})
    shop.edit(NAMESPACE, "edited", processors={"count": 3})
    shop.edit(NAMESPACE, "edited", suspend=True)
    shop.delete(NAMESPACE, "edited")
    assert eventually(lambda: shop.all(NAMESPACE) == [])


def test_without_an_operator_apps_are_stored_and_judged_later(operator, shop):
    operator.kill()
    try:
        shop.apply(NAMESPACE, "later", operators=BROKEN)
    finally:
        operator.start()
    assert eventually(lambda: shop.condition(NAMESPACE, "Accepted", "later") == ("False", "SeveralProblems"))
    shop.edit(NAMESPACE, "later", suspend=True)
