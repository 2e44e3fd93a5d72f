"""Half an hour on a cluster where everything dies in turn: pods, the operator, the broker, the API server, nodes.

`make soak` names this file; `make test` does not collect it. Faults go on for STREAMAPP_CLUSTER_SOAK_MINUTES;
STREAMAPP_CLUSTER_SOAK_SEED draws them. What happened, and when, is in `build/e2e/soak/soak.log`, and beside it the logs
of pods from before each fault.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tools.cluster.check import Missing

from chaos.cluster_faults import Fault, every_fault
from chaos.shop_app import shop_app
from chaos.shop_feed import ShopFeed
from chaos.soak_run import DEADLINE, SoakRun
from support.machine import need

MINUTES = float(os.environ.get("STREAMAPP_CLUSTER_SOAK_MINUTES", "30"))
SEED = int(os.environ.get("STREAMAPP_CLUSTER_SOAK_SEED", "1"))
APP = "shop"
RATE = 100.0
FOLDER = Path(__file__).parents[2] / "build" / "e2e" / "soak"
TOGETHER = 0.3
"""How likely it is that two faults strike together."""
HASTY = 0.25
"""How likely it is that the next ones strike before the app has caught up."""


def steps(random: Random) -> Iterator[list[Fault] | str]:
    """Yield what happens, without an end: every fault once, edits and a growth in between, and all that again."""
    while True:
        faults = every_fault(random)
        turn: list[list[Fault] | str] = []
        while faults:
            together = 2 if random.random() < TOGETHER else 1
            turn.append(faults[:together])
            del faults[:together]
        for between in ("grow", "edit", "edit", "edit"):
            turn.insert(random.randrange(len(turn) + 1), between)
        yield from turn


@pytest.mark.timeout(60 * MINUTES + 5 * DEADLINE)
def test_results_are_exact_while_everything_dies_in_turn(cluster, namespace, images, operator, kafka):
    if cluster.engine is None:
        need([Missing(what="a cluster of our own", why="its nodes are killed", install="unset KUBECONFIG")])
    random = Random(SEED)
    FOLDER.mkdir(parents=True, exist_ok=True)
    document = shop_app(namespace, APP, images[1], kafka.inside)
    with ShopFeed(kafka.outside, f"{namespace}.{APP}", Random(SEED), RATE) as feed:
        run = SoakRun(cluster, document, feed, kafka.inside.split(".")[1], kafka.outside, FOLDER, random)
        run.tell(f"seed {SEED}, {MINUTES:.0f} minutes")
        try:
            run.start()
            until = time.monotonic() + 60 * MINUTES
            for step in steps(random):
                if time.monotonic() > until:
                    break
                if step == "grow":
                    run.grow()
                elif step == "edit":
                    run.edit()
                else:
                    run.step(step, patient=random.random() >= HASTY)
            found = run.finish()
            run.tell(f"{dict(run.struck)}")
        finally:
            run.close()
    assert not found, f"seed {SEED}: see {FOLDER / 'soak.log'}\n" + "\n".join(found)
