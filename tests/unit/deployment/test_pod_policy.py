"""What pods of apps may use: every forbidden thing is found under its path, and what is allowed is not."""

from copy import deepcopy

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.deployment.pod_policy import PodPolicy, find_forbidden
from streamapp_core.problems import ProblemCode
from streamapp_core.spec.parse import parse_document
from support.operated import SHOP

DRIVER, PROCESSORS = "spec.driver.template.spec", "spec.processors.template.spec"
STRICT = PodPolicy()
EVERYTHING = PodPolicy(
    serviceAccounts=("*",),
    volumeTypes=(*STRICT.volume_types, "nfs"),
    hostPaths=("/",),
    capabilities=("ALL",),
    privileged=True,
    hostNetwork=True,
    hostProcesses=True,
)


def forbidden(policy=STRICT, **changes):
    spec = {**yaml.safe_load(SHOP), **changes}
    document = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "shop"}, "spec": spec}
    parsed = parse_document(document)
    assert not parsed.problems
    problems = find_forbidden(parsed.app, policy)
    assert {problem.code for problem in problems} <= {ProblemCode.NOT_ALLOWED}
    return {problem.path: problem.message for problem in problems}


def container(**fields):
    return {"containers": [{"name": "processor", **fields}]}


def security(**fields):
    return container(securityContext=fields)


ASKED = {
    "an account": ({"serviceAccountName": "admin"}, "serviceAccountName", "serviceAccounts"),
    "an account by its old name": ({"serviceAccount": "admin"}, "serviceAccount", "serviceAccounts"),
    "a volume of a type": (
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "nfs": {"server": "s", "path": "/"}}]},
        "volumes[1].nfs",
        "volumeTypes",
    ),
    "a folder of the node": (
        {"volumes": [{"name": "a", "hostPath": {"path": "/etc"}}]},
        "volumes[0].hostPath",
        "hostPaths",
    ),
    "a folder beside": (
        {"volumes": [{"name": "a", "hostPath": {"path": "/var/lib/streamapp-2"}}]},
        "volumes[0].hostPath",
        "hostPaths",
    ),
    "the node's network": ({"hostNetwork": True}, "hostNetwork", "hostNetwork"),
    "a port of the node": (
        container(ports=[{"containerPort": 1}, {"containerPort": 2, "hostPort": 2}]),
        "containers[0].ports[1].hostPort",
        "hostNetwork",
    ),
    "the node's processes": ({"hostPID": True}, "hostPID", "hostProcesses"),
    "the node's semaphores": ({"hostIPC": True}, "hostIPC", "hostProcesses"),
    "no walls": (security(privileged=True), "containers[0].securityContext.privileged", "privileged"),
    "no walls around the beginning": (
        {"initContainers": [{"name": "a", "securityContext": {"privileged": True}}]},
        "initContainers[0].securityContext.privileged",
        "privileged",
    ),
    "all of /proc": (security(procMount="Unmasked"), "containers[0].securityContext.procMount", "privileged"),
    "a process of the node": (
        {"securityContext": {"windowsOptions": {"hostProcess": True}}},
        "securityContext.windowsOptions.hostProcess",
        "privileged",
    ),
    "a capability": (
        security(capabilities={"add": ["SYS_ADMIN"]}),
        "containers[0].securityContext.capabilities.add",
        "capabilities",
    ),
    "a capability by its long name": (
        security(capabilities={"add": ["CAP_SYS_ADMIN"]}),
        "containers[0].securityContext.capabilities.add",
        "capabilities",
    ),
}
USUAL = [
    {"serviceAccountName": "default"},
    {
        "volumes": [
            {"name": "a", "secret": {"secretName": "s"}},
            {"name": "b", "hostPath": {"path": "/var/lib/streamapp/b"}},
        ]
    },
    {"hostNetwork": False, "hostPID": None},
    security(capabilities={"add": ["net_bind_service"], "drop": ["ALL"]}, privileged=False, procMount="Default"),
    {"volumes": "none", "containers": [7, {"securityContext": 7, "ports": {}}], "securityContext": []},
]


@pytest.mark.parametrize("pod, path, value", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("where", [DRIVER, PROCESSORS])
def test_what_is_not_allowed_is_found_with_the_value_that_allows_it(where, pod, path, value):
    part = where.split(".")[1]
    ((found, message),) = forbidden(**{part: {"template": {"spec": pod}}}).items()
    assert found == f"{where}.{path}"
    assert f"`allowed.{value}`" in message
    assert forbidden(EVERYTHING, **{part: {"template": {"spec": pod}}}) == {}


@pytest.mark.parametrize("pod", USUAL)
def test_what_is_usual_is_allowed_and_what_is_no_pod_is_left_to_kubernetes(pod):
    assert forbidden(driver={"template": {"spec": pod}}, processors={"template": {"spec": pod}}) == {}


def test_all_is_found_at_once():
    pod = {}
    for asked, _, _ in ASKED.values():
        for name, value in deepcopy(asked).items():
            pod[name] = [*pod.get(name, []), *value] if isinstance(value, list) else value
    found = forbidden(serviceAccountName="admin", processors={"template": {"spec": pod}, "state": {"hostPath": "/"}})
    assert {"spec.serviceAccountName", "spec.processors.state.hostPath"} <= found.keys()
    assert len(found) == len(ASKED) + 2


@pytest.mark.parametrize(
    "name, allowed, free",
    [
        ("admin", (), False),
        ("shop-driver", (), True),
        ("other-driver", (), False),
        ("default", (), False),
        ("jobs-a", ("jobs-*",), True),
        ("jobs", ("jobs-*",), False),
    ],
)
def test_drivers_have_their_own_account_or_one_that_is_allowed(name, allowed, free):
    found = forbidden(PodPolicy(serviceAccounts=allowed), serviceAccountName=name)
    assert found.keys() == (set() if free else {"spec.serviceAccountName"})


@given(st.lists(st.sampled_from(["a", "b", "..", ".", "ab", ""]), max_size=5).map("/".join))
def test_a_folder_is_allowed_only_if_it_lies_in_an_allowed_one(path):
    """By another way: walk the path as a kernel does; a path that goes up anywhere is never allowed."""
    inside = [step for step in path.split("/") if step not in ("", ".")]
    wanted = path.startswith("/") and ".." not in inside and inside[:1] == ["a"]
    if path:
        state = {"state": {"hostPath": path}}
        assert (forbidden(PodPolicy(hostPaths=("/a",)), processors=state) == {}) is wanted
