"""A driver whose API server is away: its app runs on, processors that die are replaced, and the end waits."""

from contextlib import ExitStack, contextmanager

import pytest

from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_systems.kubernetes.kubernetes_api import ServerUnavailableError
from support import side_input_files
from support.kubernetes_api import MemoryCluster
from support.launched_apps import EndlessVisits, LaunchedApp
from support.waiting import eventually

COUNTS = {"visits": 2, "customers": 2, "out": 2}


class AwayCluster(MemoryCluster):
    """An API server that answers nobody while it is away."""

    away = False

    @contextmanager
    def outage(self):
        """Be away."""
        self.away = True
        try:
            yield
        finally:
            self.away = False

    def __getattribute__(self, name):
        if name in ("get", "list", "create", "replace", "patch", "delete") and self.away:
            raise ServerUnavailableError("connection refused")
        return super().__getattribute__(name)


@pytest.fixture
def api():
    return AwayCluster()


@pytest.fixture
def app(tmp_path, api):
    side_input_files.write(tmp_path, {"ann": "Oslo"}, {"bob": "Rome"})
    return LaunchedApp(tmp_path, side_input_files.app(), COUNTS, api=api)


@pytest.fixture
def hub(tmp_path):
    return side_input_files.Hub(tmp_path, side_input_files.app())


def incidents(app):
    return "\n".join(app.health.summary.incidents)


def test_rows_are_processed_and_a_processor_that_dies_is_replaced(api, app, hub):
    visits = EndlessVisits(app, hub)
    with app:
        assert visits.arrive()
        with api.outage():
            assert visits.lose_processor()
            assert eventually(lambda: "waits for the API server: connection refused" in incidents(app))
        assert eventually(lambda: "without the API server" in incidents(app))
    assert app.progress.phase is DriverPhase.DRAINED


def test_the_start_and_the_end_wait(api, app, hub):
    visits = EndlessVisits(app, hub)
    with ExitStack() as running:
        with api.outage():
            running.enter_context(app)
            assert eventually(lambda: app.warnings)
        assert visits.arrive()
        with api.outage():
            app.stop()
            assert eventually(lambda: any("the end of the driver" in line for line in app.warnings))
            assert not app.failed
    assert app.progress.phase is DriverPhase.DRAINED
