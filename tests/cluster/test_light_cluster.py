"""The light tier itself: who may do what, what is on record, what its controllers do."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.cluster.errors import ClusterError

from support.waiting import eventually

ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "reader"},
    "rules": [{"apiGroups": ["streamapp.dev"], "resources": ["streamapps"], "verbs": ["get", "list"]}],
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "reader"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
    "subjects": [{"kind": "ServiceAccount", "name": "operator"}],
}


def configuration(name, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more}}


def test_users_are_told_apart(api):
    assert "system:masters" in api.cluster.kubectl("auth", "whoami")
    with pytest.raises(ClusterError, match=r"somebody.*cannot list"):
        api.seen_by("somebody").kubectl("get", "streamapps")


def test_a_service_account_may_do_what_its_role_says(api, kubectl, namespace):
    kubectl("create", "serviceaccount", "operator", "--namespace", namespace)
    operator = api.seen_by_service_account(namespace, "operator")
    with pytest.raises(ClusterError, match="cannot list"):
        operator.kubectl("get", "streamapps", "--namespace", namespace)
    for document in (ROLE, BINDING):
        kubectl("apply", "--namespace", namespace, "--filename=-", text=json.dumps(document))

    def may_list():
        try:
            return operator.get("streamapps", "--namespace", namespace) == []
        except ClusterError:  # a right is stored before it is known
            return False

    assert eventually(may_list)
    with pytest.raises(ClusterError, match="cannot list"):
        operator.kubectl("get", "pods", "--namespace", namespace)


def test_every_request_is_on_record_with_its_user(api, kubectl, namespace):
    before = len(api.requests())
    kubectl("create", "configmap", "recorded", "--namespace", namespace)
    kubectl("get", "configmap", "recorded", "--namespace", namespace)
    made = [request for request in api.requests()[before:] if request.name == "recorded" and request.user == "admin"]
    assert [(request.verb, request.resource, request.code) for request in made] == [
        ("create", "configmaps", 201),
        ("get", "configmaps", 200),
    ]
    assert [request.writes for request in made] == [True, False]


@pytest.mark.usefixtures("controllers")
def test_what_an_owner_leaves_is_collected(kubectl, get, namespace):
    kubectl("apply", "--namespace", namespace, "--filename=-", text=json.dumps(configuration("owner")))
    owner = get("configmap", "owner", "--namespace", namespace)["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    owned = configuration("owned", ownerReferences=[reference])
    kubectl("apply", "--namespace", namespace, "--filename=-", text=json.dumps(owned))
    kubectl("delete", "configmap", "owner", "--namespace", namespace)

    def names():
        return {item["metadata"]["name"] for item in get("configmaps", "--namespace", namespace)}

    assert eventually(lambda: "owned" not in names())


SCRIPT = """
import sys, time
from pathlib import Path
from tools.cluster.light import LightCluster
with LightCluster(Path(sys.argv[1])) as api:
    print(api.cluster.kubeconfig, flush=True)
    time.sleep(600)
"""


def processes_of(folder):
    """Return the processes that name a folder in their command line."""
    commands = ((path.parent.name, path) for path in Path("/proc").glob("[0-9]*/cmdline"))
    found = []
    for process, path in commands:
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(process)
        except OSError:
            continue
    return found


def test_nothing_runs_on_when_its_owner_is_killed(api):
    command = [sys.executable, "-c", SCRIPT, str(api.cluster.programs)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        kubeconfig = Path(owner.stdout.readline().strip())
        assert kubeconfig.is_file(), "it did not start"
        folder = kubeconfig.parent
        assert len(processes_of(folder)) >= 2
        owner.kill()
    try:
        assert eventually(lambda: not processes_of(folder))
    finally:
        shutil.rmtree(folder)
