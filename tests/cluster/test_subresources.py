"""Status, scale, columns and applies of StreamApps, as people and the Kubernetes operator use them."""

import json
from copy import deepcopy

import pytest
from tools.cluster.errors import ClusterError

from support.refused_resources import APP

STATUS = {
    "observedGeneration": 1,
    "phase": "Running",
    "conditions": [
        {"type": "Ready", "status": "True", "message": "all is well", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    ],
    "plan": {"mode": "streaming", "tasks": 8},
    "processors": {"ready": 1},
    "selector": "streamapp.dev/app=app",
    "runId": "r1",
}


@pytest.fixture
def in_namespace(kubectl, namespace):
    """Run kubectl in the test's namespace; a document goes in as JSON."""

    def run(*arguments, document=None):
        text = None if document is None else json.dumps(document)
        return kubectl("--namespace", namespace, *arguments, text=text)

    return run


@pytest.fixture
def app(in_namespace):
    """An app that is there; gives what is stored."""
    in_namespace("apply", "--filename=-", document=APP)
    return lambda: json.loads(in_namespace("get", "streamapp", "app", "--output=json"))


def patch_status(in_namespace, status):
    return in_namespace(
        "patch", "sapp/app", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status})
    )


def test_a_status_is_written_apart_from_the_spec(in_namespace, app):
    patch_status(in_namespace, STATUS)
    stored = app()
    assert stored["status"] == STATUS
    assert stored["metadata"]["generation"] == 1

    in_namespace("patch", "sapp/app", "--type=merge", "-p", json.dumps({"status": {"phase": "Failed"}}))
    assert app()["status"]["phase"] == "Running"

    both = {"spec": {"suspend": True}, "status": {"phase": "Stopped"}}
    in_namespace("patch", "sapp/app", "--subresource=status", "--type=merge", "-p", json.dumps(both))
    stored = app()
    assert (stored["status"]["phase"], stored["spec"]["suspend"]) == ("Stopped", False)


def test_a_status_that_breaks_its_schema_is_refused(in_namespace, app):
    wrong = {"conditions": [{"type": "Ready", "status": "Perhaps"}]}
    with pytest.raises(ClusterError, match=r"status\.conditions\[0\]\.status"):
        patch_status(in_namespace, wrong)


def test_an_edit_of_the_spec_is_a_new_generation(in_namespace, app):
    in_namespace("patch", "sapp/app", "--type=merge", "-p", json.dumps({"spec": {"suspend": True}}))
    assert app()["metadata"]["generation"] == 2


def test_scaling_sets_the_number_of_processors(in_namespace, app):
    patch_status(in_namespace, STATUS)
    in_namespace("scale", "sapp/app", "--replicas=3")
    scale = json.loads(in_namespace("get", "sapp/app", "--subresource=scale", "--output=json"))
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 1, "selector": "streamapp.dev/app=app"}
    assert app()["spec"]["processors"]["count"] == 3


@pytest.mark.parametrize("replicas", [0, 1001])
def test_scaling_keeps_within_its_bounds(in_namespace, app, replicas):
    with pytest.raises(ClusterError, match=r"spec\.processors\.count"):
        in_namespace("scale", "sapp/app", f"--replicas={replicas}")
    assert app()["spec"]["processors"]["count"] == 1


def test_the_columns_say_how_an_app_does(in_namespace, app):
    patch_status(in_namespace, STATUS)
    titles, values = in_namespace("get", "sapp").splitlines()
    assert titles.split() == ["NAME", "PHASE", "MODE", "TASKS", "PROCESSORS", "READY", "AGE"]
    assert values.split()[:-1] == ["app", "Running", "streaming", "8", "1", "1"]
    wide = in_namespace("get", "sapp", "--output=wide")
    assert "r1" in wide
    assert "all is well" in wide


def test_apps_are_listed_with_everything_else(in_namespace, app):
    assert "streamapp.streamapp.dev/app" in in_namespace("get", "all", "--output=name")


def test_a_second_client_side_apply_changes_nothing(in_namespace, app):
    before = app()
    in_namespace("apply", "--filename=-", document=APP)
    assert app() == before


def test_an_apply_removes_what_it_no_longer_holds(in_namespace, app):
    shorter = deepcopy(APP)
    del shorter["spec"]["operators"][-1]
    del shorter["spec"]["streams"]["out"]
    in_namespace("apply", "--filename=-", document=shorter)
    stored = app()["spec"]
    assert [operator["name"] for operator in stored["operators"]] == ["typed", "late", "hourly"]
    assert set(stored["streams"]) == {"a", "b"}


def test_operators_of_several_appliers_are_merged_by_name(in_namespace, app):
    apply = ("apply", "--server-side", "--filename=-")
    in_namespace(*apply, "--force-conflicts", document=APP)
    more = {key: APP[key] for key in ("apiVersion", "kind", "metadata")}
    more["spec"] = {"operators": [{"name": "kept", "from": "a", "sendTo": "out"}]}
    in_namespace(*apply, "--field-manager=another", document=more)
    names = [operator["name"] for operator in app()["spec"]["operators"]]
    assert names == ["typed", "late", "hourly", "send", "kept"]

    before = app()["metadata"]["generation"]
    in_namespace(*apply, "--force-conflicts", document=APP)
    assert [operator["name"] for operator in app()["spec"]["operators"]] == names
    assert app()["metadata"]["generation"] == before


def test_no_age_limit_survives_a_server_side_apply(in_namespace, app):
    any_age = deepcopy(APP)
    any_age["spec"]["tables"]["t"]["maxAge"] = None
    in_namespace("apply", "--server-side", "--force-conflicts", "--filename=-", document=any_age)
    assert app()["spec"]["tables"]["t"]["maxAge"] is None
