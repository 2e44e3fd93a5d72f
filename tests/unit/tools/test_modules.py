import re

from tools.cluster.modules import KUBEBOX, go_mod
from tools.cluster.versions import KUBERNETES, VERSIONS

OWN = {
    "Go": "1.24.0",
    "Require": [
        {"Path": "example.com/library", "Version": "v1.0.0"},
        {"Path": "github.com/coredns/caddy", "Version": "v1.1.0"},
        {"Path": "k8s.io/api", "Version": "v0.0.0"},
    ],
    "Replace": [
        {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
        {"Old": {"Path": "k8s.io/sample"}, "New": {"Path": "./staging/src/k8s.io/sample"}},
    ],
}


def test_everything_is_held_at_the_versions_of_kubernetes_itself():
    text = go_mod(OWN, {KUBERNETES: "v1.34.4", "example.com/tool": "v2.0.0"})
    assert "\tk8s.io/kubernetes v1.34.4\n" in text
    assert "\texample.com/tool v2.0.0\n" in text
    assert "\texample.com/library => example.com/library v1.0.0\n" in text
    assert "\tk8s.io/api => k8s.io/api v0.34.4\n" in text


def test_a_module_is_left_free_where_another_program_needs_a_newer_one():
    assert "caddy" not in go_mod(OWN, {KUBERNETES: "v1.34.4"})


def test_what_kubernetes_replaces_without_requiring_it_is_not_asked_for():
    assert "k8s.io/sample" not in go_mod(OWN, {KUBERNETES: "v1.34.4"})


def test_the_go_module_is_the_one_that_the_versions_file_asks_for():
    required = dict(re.findall(r"^\t(\S+) (v\S+)", (KUBEBOX / "go.mod").read_text(), re.MULTILINE))
    assert {path: required[path] for path in VERSIONS.modules} == dict(VERSIONS.modules)
