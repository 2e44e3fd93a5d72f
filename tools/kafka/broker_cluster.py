"""Three Kafka brokers, with three replicas of everything, of which two must be in sync."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from tools.kafka.broker import Broker

_NODES = 3
_SETTINGS = {
    "default.replication.factor": _NODES,
    "min.insync.replicas": _NODES - 1,
    "offsets.topic.replication.factor": _NODES,
    "transaction.state.log.num.partitions": _NODES,
    "transaction.state.log.replication.factor": _NODES,
    "transaction.state.log.min.isr": _NODES - 1,
    "leader.imbalance.check.interval.seconds": 5,
    "leader.imbalance.per.broker.percentage": 0,
}
"""A broker that is back gets its partitions again after some seconds."""


class BrokerCluster:
    """Brokers of one cluster: `with BrokerCluster(jars) as cluster:` starts them. The first is the controller, too."""

    def __init__(self, jars: Path) -> None:
        first = Broker(jars, settings=_SETTINGS)
        others = [Broker(jars, joins=first, node=node, settings=_SETTINGS) for node in range(2, _NODES + 1)]
        self.controller = first
        self.others = others
        """The brokers that may die: the others and the controller go on."""
        self._handles = ExitStack()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses for clients."""
        return ",".join(broker.bootstrap_servers for broker in (self.controller, *self.others))

    def __enter__(self) -> Self:
        with ExitStack() as handles:
            for broker in (self.controller, *self.others):
                handles.enter_context(broker)
            self._handles = handles.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handles.close()
