"""The properties that Spark is started with, and the places where it does not start."""

import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from streamapp_core.spec.parse import parse_document
from streamapp_core.spec.spark_settings import SparkSpec
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig
from streamapp_runtime.spark.app_properties import app_properties
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_runtime.spark.driver_machine import describe_this_machine, find_difference
from streamapp_runtime.spark.kubernetes_settings import kubernetes_settings
from streamapp_runtime.spark.rpc_security import rpc_security_settings
from streamapp_runtime.spark.spark_jobs import describe_job
from streamapp_runtime.spark.standalone_cluster import await_executors, check_master, find_own_address
from streamapp_runtime.spark.submitted_application import check_submitted
from support import apps
from support.job_models import example

CONF = {"spark.network.timeout": "2m", "spark.log.level": "INFO"}
KUBERNETES = DriverEnvironment(app="app", namespace="n", epoch=1, pod="app-driver-1", address="10.0.0.1")


def app(*, kind="file", **spark):
    document = apps.stateless(kind)
    document["spec"] |= {"spark": spark, "image": "i"}
    return parse_document(document).app


def on_kubernetes(**spark):
    return kubernetes_settings(app(**spark), KUBERNETES, 2, Path("/t.json"), Path("/log4j"))


def test_without_settings_there_are_no_pages_and_no_event_log(tmp_path):
    assert app_properties(app().spec, tmp_path) == {"spark.ui.enabled": "false"}


def test_pages_have_their_port_and_no_switch_that_ends_jobs(tmp_path):
    assert app_properties(app(ui={}).spec, tmp_path) == {
        "spark.ui.enabled": "true",
        "spark.ui.port": "4040",
        "spark.port.maxRetries": "0",
        "spark.ui.killEnabled": "false",
    }


def test_a_folder_of_the_event_log_is_made_beside_the_app(tmp_path):
    properties = app_properties(app(eventLog={"dir": "a/b"}, packages=["a:b:1", "c:d:2"], conf=CONF).spec, tmp_path)
    assert (
        properties.items()
        >= {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": (tmp_path / "a" / "b").as_uri(),
            "spark.jars.packages": "a:b:1,c:d:2",
            **CONF,
        }.items()
    )
    assert (tmp_path / "a" / "b").is_dir()


def test_a_folder_that_can_t_be_made_is_told(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(RuntimeFailure, match=r"eventLog\.dir: .*a/b can't be made"):
        app_properties(app(eventLog={"dir": "a/b"}).spec, tmp_path)


def test_an_event_log_in_a_store_has_its_address(tmp_path):
    assert app_properties(app(eventLog={"dir": "s3a://a/b"}).spec, tmp_path)["spark.eventLog.dir"] == "s3a://a/b"


def test_on_kubernetes_an_app_s_properties_are_above_our_defaults():
    assert on_kubernetes()["spark.network.timeout"] == "45s"
    assert on_kubernetes(conf=CONF).items() >= CONF.items()


def test_on_kubernetes_what_we_need_is_above_all_that_an_app_may_say():
    """The planner refuses such properties; should one come through, it changes nothing."""
    security = rpc_security_settings(Path("/secret"))
    needed = on_kubernetes() | security
    smuggled = SparkSpec(conf=dict.fromkeys(needed, "changed"))
    changed = app().model_copy(update={"spec": app().spec.model_copy(update={"spark": smuggled})})
    found = kubernetes_settings(changed, KUBERNETES, 2, Path("/t.json"), Path("/log4j")) | security
    assert {name for name in needed if found[name] != needed[name]} == {
        "spark.executor.heartbeatInterval",
        "spark.locality.wait",
        "spark.network.timeout",
    }


@pytest.mark.parametrize("master", ["spark://a:7077", "spark://a:1,b:2", "spark://10.0.0.1:7077"])
def test_a_standalone_cluster_has_a_master(master):
    assert check_master(master) == master


@pytest.mark.parametrize(
    "master, instead",
    [
        ("local[4]", "leave it out"),
        ("yarn", "spark://HOST:PORT"),
        ("k8s://https://a", "kubectl apply"),
        ("spark://a", "spark://HOST:PORT"),
        ("spark://a:1/x", "spark://HOST:PORT"),
        ("", "spark://HOST:PORT"),
    ],
)
def test_another_master_is_refused_with_what_to_use(master, instead):
    with pytest.raises(RuntimeFailure, match=f"--master .*{instead}"):
        check_master(master)


def test_the_address_of_this_machine_is_the_one_on_the_way_to_a_master():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert find_own_address(f"spark://127.0.0.1:1,127.0.0.1:{port}") == "127.0.0.1"
    with pytest.raises(RuntimeFailure, match="no master of Spark answers at spark://127"):
        find_own_address(f"spark://127.0.0.1:{port}")
    with pytest.raises(RuntimeFailure, match="no master of Spark answers"):
        find_own_address("spark://127.0.0.1:99999")


def spark_with(executors):
    status = SimpleNamespace(size=lambda: executors + 1)
    context = SimpleNamespace(getExecutorMemoryStatus=lambda: status)
    conf = {"spark.executor.memory": "512m"}
    return SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context), getConf=lambda: conf)


def test_a_cluster_without_room_is_told():
    await_executors(spark_with(2), 2, 1, seconds=0)
    with pytest.raises(RuntimeFailure, match=r"has started 1 of 2 executors.* needs 1 free cores and 512m"):
        await_executors(spark_with(1), 2, 1, seconds=0)


def test_a_worker_elsewhere_has_no_files_and_logs_of_the_driver(tmp_path):
    here = describe_this_machine(tmp_path / "spark.log")
    assert find_difference(app(), here, here) is not None, "its log is not here: a container of this machine"
    (tmp_path / "spark.log").touch()
    assert find_difference(app(), here, here) is None
    there = type(here)(boot_id="another", file=here.file, version=here.version)
    assert "files, log of spec.systems" in find_difference(app(), here, there)
    kafka = apps.stateless("kafka")
    kafka["spec"]["systems"].pop("log")
    assert find_difference(parse_document(kafka).app, here, there) is None


def test_a_worker_has_the_driver_s_version(tmp_path):
    here = describe_this_machine(tmp_path)
    other = type(here)(boot_id=here.boot_id, file=here.file, version="0.0.1")
    assert "install the driver's" in find_difference(app(), here, other)


def test_spark_submit_may_say_what_we_do_not_need():
    check_submitted({}, {"a": "1"}, SparkSpec(ui={}), {})
    check_submitted({"a": "1", "spark.master": "local[1]", "more": "x"}, {"a": "1", "spark.master": "m"}, None, {})
    check_submitted({"a": "1"}, {}, SparkSpec(ui={}), {"SPARK_LOCAL_IP": "127.0.0.1"})


def test_spark_submit_is_told_all_that_it_has_decided_otherwise():
    submitted = {"spark.speculation": "true", "spark.task.maxFailures": "4", "spark.x": "1"}
    needed = {"spark.speculation": "false", "spark.task.maxFailures": "1"}
    with pytest.raises(RuntimeFailure) as told:
        check_submitted(submitted, needed, SparkSpec(ui={}, packages=("a:b:1",)), {})
    assert str(told.value).endswith(
        "leave out spark.speculation=true, as StreamApp needs false; leave out spark.task.maxFailures=4, as StreamApp "
        "needs 1; write spec.spark.packages as --packages a:b:1; set SPARK_LOCAL_IP=127.0.0.1 for spec.spark.ui, which "
        "listens at all addresses without it"
    )


@pytest.mark.parametrize("tasks, shown", [(6, 3), (100, 20)])
def test_a_job_is_described_by_its_processor_and_its_first_tasks(tasks, shown):
    model = example(tasks=tasks)
    own = [name for name, task in model.tasks.items() if task.processor == "0"]
    incarnation = Incarnation(processor="0", epoch=1, version=7, number=3)
    config = ProcessorConfig(
        incarnation=incarnation,
        app="",
        counts={},
        job_model=model.model_dump_json(),
        ends={},
        folder="/",
        state_folder="/",
    )
    more = f", {len(own) - shown} more" if len(own) > shown else ""
    assert describe_job(config) == f"{incarnation}: {', '.join(own[:shown])}{more}"
