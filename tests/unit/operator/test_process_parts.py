"""Settings, health, status patches: the small parts of the process."""

import urllib.error
import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_operator.observe.resync_loop import ResyncLoop
from streamapp_operator.process.bootstrap import read_secret
from streamapp_operator.process.health import OperatorHealth
from streamapp_operator.process.operator_http_endpoints import serve_pages
from streamapp_operator.process.operator_metrics import OperatorMetrics
from streamapp_operator.process.settings import read_settings
from streamapp_operator.status.app_status import diff_status
from streamapp_systems.kubernetes.kubernetes_api import Kind, RequestRefusedError, ServerUnavailableError
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.run_ids import new_run_id
from support.kubernetes_api import MemoryCluster, merged

JSON = st.recursive(
    st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
STATUS = st.dictionaries(st.text(max_size=3), JSON, max_size=4)


@given(STATUS, STATUS)
def test_a_patch_makes_the_status_that_was_meant(before, after):
    assert merged(before, diff_status(before, after)) == after


@given(STATUS)
def test_an_equal_status_needs_no_patch(status):
    assert diff_status(status, status) == {}


def test_flags_win_over_variables_over_defaults():
    settings = read_settings(
        ["--workers", "3"], {"STREAMAPP_OPERATOR_WORKERS": "5", "STREAMAPP_OPERATOR_LOG_LEVEL": "DEBUG"}
    )
    assert (settings.workers, settings.log_level, settings.http_port) == (3, "DEBUG", 8081)


def test_namespaces_are_a_list_and_none_means_all():
    assert read_settings(["--namespaces", "a, b"], {}).namespace_selection.names == ("a", "b")
    assert read_settings([], {}).namespace_selection.names == ()


def test_namespaces_are_named_or_selected_by_labels_not_both():
    selector = ["--namespace-selector", '{"matchLabels": {"team": "a"}}']
    assert read_settings(selector, {}).namespace_selection.selector == "team=a"
    with pytest.raises(ValueError, match="namespaces a, b are named, and others are selected by `team=a`"):
        _ = read_settings(["--namespaces", "a,b", *selector], {}).namespace_selection


def test_a_setting_that_is_no_number_is_refused(capsys):
    with pytest.raises(SystemExit):
        read_settings(["--workers", "many"], {})
    assert "invalid int value: 'many'" in capsys.readouterr().err


def test_run_ids_are_dns_labels():
    assert all(len(run_id) == 8 and run_id[0].isalpha() and run_id.isalnum() for run_id in map(run_id_of, range(50)))


def run_id_of(_):
    return new_run_id()


def test_secrets_are_read_by_name():
    cluster = MemoryCluster()
    body = {"metadata": {"name": "login", "namespace": "default"}, "data": {"username": "bWU="}}
    cluster.create(Kind.SECRET, body)
    assert read_secret(cluster, "default", "login") == {"username": b"me"}
    assert read_secret(cluster, "default", "none") == {}


class Refusing:
    """An API server on which the operator may read no secrets."""

    def get(self, kind, namespace, name):
        raise RequestRefusedError('secrets "login" is forbidden')


def test_a_secret_that_the_operator_may_not_read_is_named_with_what_to_change():
    with pytest.raises(
        StreamSystemError, match=r"Secret login in namespace demo can't be read: .*forbidden.*rbac\.secrets"
    ):
        read_secret(Refusing(), "demo", "login")


class Informer:
    """Watches that miss what a test says."""

    def __init__(self):
        self.missed = []

    def resync(self, pause):
        missed = self.missed.pop(0) if self.missed else 0
        if isinstance(missed, Exception):
            raise missed
        return missed


class TestHealth:
    @pytest.fixture
    def informer(self):
        return Informer()

    @pytest.fixture
    def time(self):
        return {"stall": 0.0, "now": 0.0}

    @pytest.fixture
    def missed(self):
        return []

    @pytest.fixture
    def resyncs(self, informer, missed, time):
        return ResyncLoop(informer, missed.append, interval=60.0, clock=lambda: time["now"])

    @pytest.fixture
    def health(self, resyncs, time):
        return OperatorHealth(resyncs, lambda: time["stall"])

    def test_a_queue_that_stands_still_is_a_failure(self, health, time):
        assert health.find_failure() is None
        time["stall"] = 500.0
        assert "not moved" in health.find_failure()

    def test_watches_that_keep_missing_changes_are_a_failure(self, health, resyncs, informer, missed):
        informer.missed = [1, 1, 1, 0]
        resyncs.resync()
        resyncs.resync()
        assert health.find_failure() is None
        resyncs.resync()
        assert "missed" in health.find_failure()
        assert missed == [1, 1, 1]
        resyncs.resync()
        assert health.find_failure() is None

    def test_an_api_server_that_is_away_is_no_failure(self, health, resyncs, informer):
        informer.missed = [ServerUnavailableError("away")] * 5
        for _ in range(5):
            resyncs.resync()
        assert health.find_failure() is None

    def test_caches_that_are_not_resynced_are_a_failure(self, health, time):
        time["now"] = 1_000.0
        assert "not been resynced" in health.find_failure()


def test_health_and_metrics_are_served():
    state = {"failure": None}
    metrics = OperatorMetrics()
    metrics.register_phases(lambda: ["Running", "Running", "Refused"])
    server = serve_pages(0, lambda: state["failure"], metrics.registry)
    try:
        assert page(server, "healthz") == "ok"
        assert 'streamapp_apps{phase="Running"} 2.0' in page(server, "metrics")
        state["failure"] = "stuck"
        with pytest.raises(urllib.error.HTTPError) as error:
            page(server, "healthz")
        assert (error.value.code, error.value.read()) == (503, b"stuck")
        error.value.close()
    finally:
        server.close()


def page(server, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/{name}", timeout=10) as answer:
        return answer.read().decode()
