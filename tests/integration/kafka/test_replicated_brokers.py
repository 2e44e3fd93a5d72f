"""Three brokers that lead different partitions, of which one is away at times: an app goes on meanwhile, exactly.

`make test` takes a sample with fixed seeds; `make soak` sets STREAMAPP_BROKER_OUTAGES for more and longer outages.
"""

import os
from contextlib import contextmanager
from random import Random

import pytest
from tools.kafka.broker_cluster import BrokerCluster
from tools.kafka.jars import default_cache, kafka_jars

from support.soak import Soak
from support.waiting import nothing_for

pytestmark = pytest.mark.xdist_group("replicated-brokers")

OUTAGES = int(os.environ.get("STREAMAPP_BROKER_OUTAGES", "0"))
SECONDS = (15.0, 60.0) if OUTAGES else (1.0, 5.0)


@contextmanager
def killed(broker):
    broker.kill()
    yield
    broker.start()


@contextmanager
def shut_down(broker):
    """End a broker in the usual way: it hands its partitions over, and gets them again when it is back."""
    broker.terminate()
    yield
    broker.start()


@contextmanager
def stopped(broker):
    with broker.paused():
        yield


@pytest.mark.timeout(1_200 + 150 * OUTAGES)
def test_an_app_works_while_one_of_three_brokers_is_away_and_stays_exact(tmp_path):
    random = Random(9_000)
    kinds = [killed, shut_down, *random.choices([killed, shut_down, stopped], k=OUTAGES)]
    with (
        BrokerCluster(kafka_jars(default_cache())) as cluster,
        Soak(tmp_path, cluster, "replicated", "--host", "processes") as soak,
    ):
        for away in kinds:
            soak.feed(2_000)
            assert soak.works(), "nothing comes out any more"
            soak.feed(2_000)
            with away(random.choice(cluster.others)):
                nothing_for(random.uniform(*SECONDS))
                soak.feed(2_000)
                assert soak.works(), f"nothing comes out while a broker is {away.__name__}"
        soak.finish()
        assert soak.gave_up == []
