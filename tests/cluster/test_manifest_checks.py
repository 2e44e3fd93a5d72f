"""Manifests of chart and release as kubeconform and kube-score see them: all fields are known, nothing is critical."""

from dataclasses import replace
from uuid import UUID

import pytest
import yaml
from tools.cluster.binaries import kube_binaries
from tools.cluster.cached import default_cache
from tools.cluster.manifest_checkers import manifest_checkers
from tools.release.artefacts import ReleaseRequest, write_manifest

from support.chart import CHART
from support.manifest_checks import conform, find_criticals, write_schemas

ENABLED = {"enabled": True}
POD = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}
VALUES = {
    "defaults": {},
    "several": {"replicas": 3, "watch": {"namespaceSelector": {"matchLabels": {"team": "a"}}}},
    "some namespaces": {"watch": {"namespaces": ["a", "b"]}, "rbac": {"aggregate": False, "confineDrivers": "Always"}},
    "closed": {
        "networkPolicy": {**ENABLED, "metricsFrom": [POD], "egress": [{"ports": [{"port": 53, "protocol": "UDP"}]}]},
        "webhook": ENABLED,
    },
    "everything": {
        "replicas": 2,
        "definition": {"upgrade": True},
        "webhook": {**ENABLED, "certManager": ENABLED},
        "metrics": {"serviceMonitor": ENABLED, "podMonitor": ENABLED},
        "networkPolicy": ENABLED,
        "jobs": {"serviceAccounts": [{"name": "loader", "namespaces": ["a"]}]},
        "allowed": {"hostPaths": ["/disks"], "capabilities": ["ALL"]},
        "extraVolumes": [{"name": "more", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        "commonLabels": {"team": "a"},
    },
}
FOREIGN = {"Certificate", "Issuer", "PodMonitor", "ServiceMonitor"}
"""Kinds of other projects, which API servers have only with these: nobody here knows their fields."""

IMAGE = "tags are of releases, and install.yaml has a digest: a node that holds the image needs no registry"
USER = "the image has the user 10001, and pods that say so are refused where the platform gives users (OpenShift)"
DISK = "what may be written is /tmp, an emptyDir with a limit; the root file system is read-only"
SCRATCH = "the pod can write to no disk: its root file system is read-only, and it has no volume"
OPEN = "which clients and destinations there are is known to the administrator: networkPolicy.enabled of the values"
HOOK = "it runs for seconds, serves nothing, and needs the API server or the operator"
BY_PROGRESS = "/healthz answers by progress: readiness asks more often, liveness waits for four answers that fail"
KEPT = {
    ("Deployment", "container-image-pull-policy"): IMAGE,
    ("Deployment", "container-security-context-user-group-id"): USER,
    ("Deployment", "container-ephemeral-storage-request-and-limit"): DISK,
    ("Deployment", "pod-networkpolicy"): OPEN,
    ("Deployment", "pod-probes-identical"): BY_PROGRESS,
    ("Job", "container-image-pull-policy"): IMAGE,
    ("Job", "container-security-context-user-group-id"): USER,
    ("Job", "container-ephemeral-storage-request-and-limit"): SCRATCH,
    ("Job", "pod-networkpolicy"): HOOK,
    ("Pod", "container-image-pull-policy"): IMAGE,
    ("Pod", "container-security-context-user-group-id"): USER,
    ("Pod", "container-ephemeral-storage-request-and-limit"): SCRATCH,
    ("Pod", "pod-networkpolicy"): HOOK,
}
"""What kube-score calls critical and stays, with the reason."""


@pytest.fixture(scope="module")
def checkers():
    return manifest_checkers(default_cache())


@pytest.fixture(scope="module")
def manifests(chart):
    """All that is checked, by name: text as Helm or a release writes it."""
    request = ReleaseRequest(
        image="registry.invalid/streamapp-operator",
        digest=f"sha256:{64 * '0'}",
        images=False,
        builder="https://builder.invalid",
        serial=UUID(int=1),
    )
    helm = kube_binaries(default_cache()) / "helm"
    written = {name: chart.write(values) for name, values in VALUES.items()}
    written["release"] = write_manifest(helm, request)
    written["release by tag"] = write_manifest(helm, replace(request, digest=""))
    return written


@pytest.fixture(scope="module")
def schemas(kubectl, manifests, tmp_path_factory):
    folder = tmp_path_factory.mktemp("schemas")
    objects = [item for text in manifests.values() for item in yaml.safe_load_all(text) if item]
    write_schemas(kubectl, folder, objects)
    return folder


@pytest.mark.parametrize("name", [*VALUES, "release", "release by tag"])
def test_every_field_is_one_of_its_kind(checkers, schemas, manifests, name):
    found = conform(checkers, schemas, manifests[name])
    assert len(found) == len([item for item in yaml.safe_load_all(manifests[name]) if item])
    assert [entry for entry in found if entry[0] not in FOREIGN and entry[1] != "statusValid"] == []


@pytest.mark.parametrize("name", [*VALUES, "release", "release by tag"])
def test_nothing_is_critical_but_what_has_a_reason(checkers, manifests, name):
    assert find_criticals(checkers, manifests[name]) - KEPT.keys() == set()


def test_each_reason_is_needed(checkers, manifests):
    assert set().union(*(find_criticals(checkers, text) for text in manifests.values())) == KEPT.keys()


def test_unknown_fields_values_of_another_type_and_fields_said_twice_are_found(checkers, schemas, chart):
    text = chart.write()
    for right, wrong in (
        ("revisionHistoryLimit: 3", "revisionHistoryLimits: 3"),
        ("revisionHistoryLimit: 3", "revisionHistoryLimit: three"),
        ("revisionHistoryLimit: 3", "revisionHistoryLimit: 3\n  revisionHistoryLimit: 3"),
    ):
        assert right in text
        (found,) = [
            entry for entry in conform(checkers, schemas, text.replace(right, wrong)) if "Valid" not in entry[1]
        ]
        assert found[:2] in (("Deployment", "statusInvalid"), ("Deployment", "statusError"), ("", "statusError"))


def test_criticals_are_found(checkers, chart):
    text = chart.write().replace("readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false")
    assert ("Deployment", "container-security-context-readonlyrootfilesystem") in find_criticals(checkers, text)


def test_the_definition_itself_conforms(checkers, schemas):
    (file,) = (CHART / "crds").iterdir()
    assert conform(checkers, schemas, file.read_text())[0][1] == "statusValid"
