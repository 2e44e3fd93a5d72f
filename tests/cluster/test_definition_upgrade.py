"""The chart's hook that brings the definition up to date: what it may do, and what it does."""

import json
import os
import subprocess
import sys

import pytest
from kubernetes import client
from tools.cluster.errors import ClusterError

from streamapp_core.crd import custom_resource_definition
from support.waiting import eventually

HOME, ACCOUNT = "definition-home", "streamapp-definition"
DEFINITION = "streamapps.streamapp.dev"
SHORT_NAMES = custom_resource_definition()["spec"]["names"]["shortNames"]


@pytest.fixture(scope="module")
def hook(api, api_client, chart):
    """The cluster as the hook's account sees it, with the rights that the chart gives it."""
    client.CoreV1Api(api_client).create_namespace({"metadata": {"name": HOME}})
    rendered = chart.render({"definition": {"upgrade": True}}, namespace=HOME)
    items = [item for item in rendered.objects if item["metadata"]["name"] == ACCOUNT]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    api.cluster.kubectl("create", "--dry-run=server", "--validate=strict", "--filename=-", text=text)
    rights = [item for item in items if item["kind"] != "Job"]
    api.cluster.kubectl("apply", "--filename=-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": rights}))
    account = api.seen_by_service_account(HOME, ACCOUNT)
    assert eventually(lambda: may_read(account))
    yield account
    api.cluster.kubectl("delete", "clusterrole,clusterrolebinding", ACCOUNT)


def may_read(account):
    try:
        return account.get("crd", DEFINITION)
    except ClusterError:
        return None


def upgrade(kubeconfig):
    command = [sys.executable, "-m", "streamapp_operator.process.definition_upgrade"]
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


def patch(kubectl, change):
    kubectl("patch", "crd", DEFINITION, "--type=merge", "--patch", json.dumps(change))


def test_an_older_definition_becomes_this_release_s_and_others_additions_stay(hook, kubectl, get):
    patch(kubectl, {"metadata": {"labels": {"team": "t"}}, "spec": {"names": {"shortNames": ["old"]}}})
    done = upgrade(hook.kubeconfig)
    assert done.returncode == 0, done.stderr
    assert f"the definition {DEFINITION} is up to date" in done.stdout
    found = get("crd", DEFINITION)
    assert found["spec"]["names"]["shortNames"] == SHORT_NAMES
    assert found["metadata"]["labels"]["team"] == "t"
    generation = found["metadata"]["generation"]
    assert upgrade(hook.kubeconfig).returncode == 0
    assert get("crd", DEFINITION)["metadata"]["generation"] == generation


def test_the_hook_may_change_no_other_definition(hook):
    for verb, name in (("patch", "others.example.com"), ("delete", DEFINITION), ("create", "")):
        with pytest.raises(ClusterError):
            hook.kubectl("auth", "can-i", verb, f"customresourcedefinitions/{name}".rstrip("/"))


def test_who_may_not_is_told(api):
    refused = upgrade(api.seen_by("somebody").kubeconfig)
    assert refused.returncode == 1
    assert "can't be brought up to date: " in refused.stderr
    assert "forbidden" in refused.stderr
