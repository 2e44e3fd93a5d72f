"""A whole app on a simulated Kafka cluster finds what it finds on a log, though markers are late."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from simulation.direct_systems import DirectSystems
from simulation.simulated_broker import SimulatedBroker
from simulation.simulated_network import DirectNetwork, RealTime
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.hosts.in_process_host import InProcessHost
from support import apps, numbered

RECORDS = 3_000


@pytest.mark.parametrize("latest", [0, 40])
def test_an_app_reads_and_writes_every_record_once(tmp_path, latest):
    """Markers are written up to so many milliseconds after their commit was answered."""
    chance = Random(latest)
    network = DirectNetwork(SimulatedBroker(), RealTime(), marker_delay_ms=lambda: chance.randint(0, latest))

    def context_of(folder: Path):
        return replace(local_context(folder), systems=DirectSystems(folder, network))

    systems = DirectSystems(tmp_path, network)
    system = {"kafka": {"bootstrapServers": "simulated:9092"}}
    numbered.lay_out(tmp_path, system, records=RECORDS, systems=systems)
    apps.run(
        (tmp_path / "app.yaml").read_text(),
        tmp_path,
        lambda channel, name, log_folder: InProcessHost(channel, lambda config: context_of(Path(config.folder))),
        context=context_of(tmp_path),
    )
    numbered.check_results(tmp_path, RECORDS, systems)
