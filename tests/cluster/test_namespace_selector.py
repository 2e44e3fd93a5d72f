"""An operator of the namespaces with some labels: it follows them as they get and lose these, and touches no others."""

import pytest
from kubernetes import client
from tools.cluster.errors import ClusterError

from support.chart import Chart
from support.operated_apps import drivers
from support.operator_process import OperatorProcess
from support.waiting import eventually

HOME, RELEASE = "selecting-home", "selecting"
OURS, THEIRS, LATE = "selected-ours", "selected-theirs", "selected-late"
SELECTOR = {"matchLabels": {"team": "a"}, "matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]}
MATCHING, NONE = {"team": "a"}, {"team": None}
VARIABLE = "STREAMAPP_OPERATOR_"


@pytest.fixture(scope="module")
def core(api_client):
    return client.CoreV1Api(api_client)


@pytest.fixture(scope="module")
def operator(api, core, tmp_path_factory):
    """The operator with the settings and the rights that the chart gives it, in a process of its own."""
    for name, labels in ((HOME, {}), (OURS, MATCHING), (THEIRS, {"team": "b"})):
        core.create_namespace({"metadata": {"name": name, "labels": labels}})
    chart = Chart(api.cluster.programs, api.cluster.environment)
    values = {
        "watch": {"namespaceSelector": SELECTOR},
        "rbac": {"confineDrivers": "Never", "aggregate": False},
        "settings": {"resyncInterval": 3_600},
    }
    notes = chart.install(RELEASE, HOME, values)
    assert 'labels match {"matchExpressions"' in notes
    rendered = chart.render(values, release=RELEASE, namespace=HOME)
    settings = {name.removeprefix(VARIABLE).lower(): value for name, value in rendered.environment.items()}
    del settings["http_port"]
    account = api.seen_by_service_account(HOME, f"{RELEASE}-streamapp-operator")
    assert eventually(lambda: may_list_namespaces(account))
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    with OperatorProcess(account.kubeconfig, log, **settings) as operator:
        yield operator
    chart.uninstall(RELEASE, HOME)


def may_list_namespaces(account):
    try:
        return account.get("namespaces")
    except ClusterError:
        return False


def label(core, namespace, labels):
    core.patch_namespace(namespace, {"metadata": {"labels": labels}})


def taken(shop, namespace, name):
    """Return whether an operator has judged an app."""
    return "status" in shop.get(namespace, name)


def apps(operator):
    """Return how many apps the operator says that it has."""
    lines = [line for line in operator.page("metrics").splitlines() if line.startswith("streamapp_apps{")]
    return sum(float(line.split()[1]) for line in lines)


def test_apps_of_other_namespaces_are_left_alone(operator, shop, core):
    shop.apply(THEIRS, "first")
    shop.apply(OURS, "second")
    assert eventually(lambda: "second-driver-1" in drivers(core, OURS))
    assert not taken(shop, THEIRS, "first")
    assert drivers(core, THEIRS) == []
    assert apps(operator) == 1


@pytest.mark.usefixtures("operator")
def test_a_namespace_that_gets_the_labels_is_followed(shop, core):
    core.create_namespace({"metadata": {"name": LATE}})
    shop.apply(LATE, "late")
    label(core, LATE, {**MATCHING, "old": "yes"})
    shop.apply(OURS, "meanwhile")
    assert eventually(lambda: taken(shop, OURS, "meanwhile"))
    assert not taken(shop, LATE, "late")
    label(core, LATE, {"old": None})
    assert eventually(lambda: "late-driver-1" in drivers(core, LATE))


def test_a_namespace_that_loses_the_labels_is_left_as_it_is_until_it_has_them_again(operator, shop, core):
    label(core, LATE, MATCHING | {"old": None})
    shop.apply(LATE, "left")
    assert eventually(lambda: "left-driver-1" in drivers(core, LATE))
    counted = apps(operator)
    label(core, LATE, NONE)
    assert eventually(lambda: apps(operator) < counted)
    shop.edit(LATE, "left", suspend=True)
    shop.apply(OURS, "after")
    assert eventually(lambda: taken(shop, OURS, "after"))
    assert "left-driver-1" in drivers(core, LATE)
    assert shop.get(LATE, "left")["status"]["phase"] != "Suspended"
    label(core, LATE, MATCHING)
    assert eventually(lambda: "left-driver-1" not in drivers(core, LATE))


def test_an_operator_that_starts_anew_takes_the_namespaces_as_they_are(operator, shop, core):
    operator.kill()
    label(core, THEIRS, MATCHING)
    label(core, OURS, NONE)
    shop.apply(THEIRS, "new")
    shop.apply(OURS, "unseen")
    operator.start()
    assert eventually(lambda: "new-driver-1" in drivers(core, THEIRS))
    assert not taken(shop, OURS, "unseen")
    label(core, OURS, MATCHING)
    assert eventually(lambda: taken(shop, OURS, "unseen"))
