"""Brokers that die, stand still or are cut off for longer than a transaction lasts: apps go on by themselves, exactly.

`make test` takes one outage of 17 or 30 s of each kind; `make soak` sets STREAMAPP_OUTAGES for more and longer ones.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from support.kafka import PATIENT
from support.kafka_proxy import KafkaProxy
from support.soak import Soak
from support.waiting import nothing_for

LONG, LONGER = 17, 30
"""Seconds: longer than a transaction may take; as long as brokers may be silent for."""
OUTAGES = [int(seconds) for seconds in os.environ.get("STREAMAPP_OUTAGES", "").split(",") if seconds]


@contextmanager
def killed(broker, proxy):
    broker.kill()
    yield
    broker.start()


@contextmanager
def stopped(broker, proxy):
    with broker.paused():
        yield


@contextmanager
def cut_off(broker, proxy):
    with proxy.silent():
        yield


def survive(folder, away, outages):
    """Run an app through outages; give the reasons for which it gave up."""
    with ExitStack() as stack:
        proxy = stack.enter_context(KafkaProxy())
        settings = PATIENT if away is stopped else {}
        broker = stack.enter_context(Broker(kafka_jars(default_cache()), proxy=proxy.port, settings=settings))
        proxy.target = broker.proxied_port
        folder.mkdir()
        soak = stack.enter_context(Soak(folder, proxy, away.__name__.replace("_", "-"), "--host", "processes"))
        for seconds in outages:
            soak.feed(2_000)
            assert soak.works(), "nothing comes out"
            soak.feed(2_000)
            with away(broker, proxy):
                nothing_for(seconds)
                soak.feed(100)
        soak.finish()
        return soak.gave_up


@pytest.mark.timeout(1_200 + 2 * sum(OUTAGES))
def test_an_app_goes_on_by_itself_after_an_outage_and_is_exact(tmp_path):
    kinds = {killed: [LONGER], stopped: [LONG], cut_off: [LONG]}
    with ThreadPoolExecutor(len(kinds)) as pool:
        runs = {
            away.__name__: pool.submit(survive, tmp_path / away.__name__, away, OUTAGES or sample)
            for away, sample in kinds.items()
        }
    assert {name: run.result() for name, run in runs.items()} == {name: [] for name in runs}
