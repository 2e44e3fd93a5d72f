"""Kubernetes takes the CustomResourceDefinition, in every way in which people bring it in."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
FILE = ROOT / "charts" / "streamapp" / "crds" / "streamapps.streamapp.dev.yaml"
NAME = "crd/streamapps.streamapp.dev"


def version(definition):
    return definition["metadata"]["generation"], definition["metadata"]["resourceVersion"]


def test_a_second_client_side_apply_finds_nothing_to_change(kubectl, get):
    kubectl("apply", "--filename", "charts/streamapp/crds")
    before = version(get(NAME))
    assert "unchanged" in kubectl("apply", "--filename", "charts/streamapp/crds")
    assert version(get(NAME)) == before


def test_a_second_server_side_apply_finds_nothing_to_change(kubectl, get):
    kubectl("apply", "--server-side", "--force-conflicts", "--filename", "charts/streamapp/crds")
    before = version(get(NAME))
    kubectl("apply", "--server-side", "--force-conflicts", "--filename", "charts/streamapp/crds")
    assert version(get(NAME)) == before


def test_it_is_stored_as_it_is_written(get):
    written = yaml.safe_load(FILE.read_text())["spec"]
    stored = get(NAME)["spec"]
    assert {name: stored[name] for name in written} == written


def test_it_is_structural_and_established(get):
    conditions = {condition["type"]: condition["status"] for condition in get(NAME)["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}


def test_every_field_can_be_explained(kubectl):
    told = kubectl("explain", "streamapp.spec.processors.state")
    assert "hostPath" in told
    assert "DESCRIPTION" in told
