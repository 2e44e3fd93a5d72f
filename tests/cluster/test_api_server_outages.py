"""A real API server is suspended, and killed: the driver of an app that runs needs it for nothing but its reports."""

from contextlib import closing

import pytest

from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_systems.kubernetes.kubernetes_client import KubernetesClient
from support import side_input_files
from support.launched_apps import EndlessVisits, LaunchedApp
from support.waiting import eventually

COUNTS = {"visits": 2, "customers": 2, "out": 2}


@pytest.fixture
def client(api):
    with closing(KubernetesClient(kubeconfig=api.cluster.kubeconfig)) as client:
        yield client


@pytest.mark.parametrize("outage", ["api_server_suspended", "api_server_killed"])
def test_rows_are_processed_and_processors_replaced_while_it_is_away(tmp_path, api, client, namespace, outage):
    side_input_files.write(tmp_path, {"ann": "Oslo"}, {"bob": "Rome"})
    hub = side_input_files.Hub(tmp_path, side_input_files.app())
    with LaunchedApp(tmp_path, side_input_files.app(), COUNTS, api=client, namespace=namespace) as app:
        visits = EndlessVisits(app, hub)
        assert visits.arrive()
        with getattr(api, outage)():
            assert visits.lose_processor()
            assert eventually(lambda: any("waits for the API server" in line for line in app.warnings), seconds=200)
            assert visits.arrive()
        assert eventually(lambda: any("without the API server" in line for line in app.warnings))
        assert app.progress.phase is DriverPhase.RUNNING
    assert app.progress.phase is DriverPhase.DRAINED
