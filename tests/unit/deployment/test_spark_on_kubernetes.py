"""Settings of Spark that pods can't have."""

import pytest

from streamapp_core.deployment.spark_on_kubernetes import find_local_settings
from streamapp_core.spec.parse import parse_document
from support.refused_resources import APP

VOLUME = {"name": "logs", "persistentVolumeClaim": {"claimName": "logs"}}
MOUNT = {"name": "logs", "mountPath": "/logs/"}


def found(spark, *, volume=VOLUME, mount=MOUNT, container="driver"):
    pod = {"containers": [{"name": container, "volumeMounts": [mount]}], "volumes": [volume]}
    app = parse_document({**APP, "spec": {**APP["spec"], "spark": spark, "driver": {"template": {"spec": pod}}}}).app
    return [problem.path.removeprefix("spec.spark.") for problem in find_local_settings(app.spec)]


@pytest.mark.parametrize("folder", ["/logs", "/logs/a", "file:///logs", "//logs/./a", "s3a://logs/a"])
def test_an_event_log_on_a_volume_or_in_a_store_lasts(folder):
    assert found({"eventLog": {"dir": folder}}) == []


@pytest.mark.parametrize("folder", ["logs", "/", "/tmp", "/logs2", "/logs/../tmp", "file:/tmp"])
def test_an_event_log_that_ends_with_its_pod_is_refused(folder):
    assert found({"eventLog": {"dir": folder}}) == ["eventLog.dir"]


@pytest.mark.parametrize(
    "more",
    [
        {"volume": {"name": "logs", "emptyDir": {}}},
        {"volume": {"name": "others", "persistentVolumeClaim": {}}},
        {"mount": {**MOUNT, "readOnly": True}},
        {"container": "sidecar"},
        {"mount": {"name": "logs"}},
        {"mount": 7},
    ],
)
def test_a_volume_that_does_not_last_or_is_not_the_driver_s_is_none(more):
    assert found({"eventLog": {"dir": "/logs"}}, **more) == ["eventLog.dir"]


def test_everything_is_told_at_once():
    assert found({"packages": ["a:b:1"], "ui": {"port": 8080}, "eventLog": {"dir": "x"}}) == [
        "packages",
        "ui.port",
        "eventLog.dir",
    ]


def test_other_settings_are_for_pods_too():
    assert found({"ui": {}, "conf": {"spark.log.level": "INFO"}}) == []


@pytest.mark.parametrize("template", [{}, {"spec": 7}, {"spec": {"containers": 7, "volumes": [7]}}])
def test_a_template_that_is_none_has_no_volumes(template):
    spec = {**APP["spec"], "spark": {"eventLog": {"dir": "/logs"}}, "driver": {"template": template}}
    (problem,) = find_local_settings(parse_document({**APP, "spec": spec}).app.spec)
    assert problem.path == "spec.spark.eventLog.dir"


@pytest.mark.parametrize("storage_class, refused", [({}, 1), ({"storageClassName": "standard"}, 0)])
def test_claims_have_a_storage_class_that_is_named(storage_class, refused):
    processors = {"count": 2, "state": {"volumeClaim": {"size": "1Gi", **storage_class}}}
    app = parse_document({**APP, "spec": {**APP["spec"], "processors": processors}}).app
    paths = [problem.path for problem in find_local_settings(app.spec)]
    assert paths == ["spec.processors.state.volumeClaim"] * refused


@pytest.mark.parametrize(
    ("memory", "read", "written", "paths"),
    [
        ("1Gi", True, False, ["spec.driver.memory"]),
        ("2560Mi", True, False, []),
        ("2Gi", False, True, ["spec.driver.memory"]),
        ("3Gi", False, True, []),
        ("3Gi", True, True, ["spec.driver.memory"]),
        ("4Gi", True, True, []),
        ("1Gi", False, False, []),
    ],
)
def test_a_driver_beside_which_spark_reads_and_writes_needs_memory_for_it(memory, read, written, paths):
    systems = {**APP["spec"]["systems"], "shop": {"spark": {"format": "jdbc", "path": "/staged"}}}
    streams = {"in": {"system": "shop" if read else "log"}, "out": {"system": "shop" if written else "log"}}
    operators = [{"name": "sent", "from": "in", "sendTo": "out"}]
    spec = {**APP["spec"], "systems": systems, "streams": streams, "operators": operators, "driver": {"memory": memory}}
    app = parse_document({**APP, "spec": spec}).app
    assert [problem.path for problem in find_local_settings(app.spec)] == paths
