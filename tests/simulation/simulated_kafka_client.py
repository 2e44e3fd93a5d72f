"""Clients of simulated brokers: requests that are repeated while their errors are transient, and their errors."""

from confluent_kafka import KafkaError

from simulation.kafka_requests import Answer, InitProducerId, Network, NoAnswer, ProducerIdentity, Request, RequestError
from streamapp_systems.kafka.client_config import TRANSACTION_SECONDS, Cluster
from streamapp_systems.kafka.kafka_errors import FENCING, TRANSIENT, ClientProblems
from streamapp_systems.protocols import Fenced, StreamSystemError, TransactionOwner

PAUSE = 0.1
"""Seconds between two requests."""

COORDINATOR_TRANSIENT = TRANSIENT | {KafkaError.CONCURRENT_TRANSACTIONS}
PRODUCE_TRANSIENT = TRANSIENT | {KafkaError.NOT_ENOUGH_REPLICAS}


class SimulatedClient:
    """A client of one cluster. Every request ends within the cluster's timeout, of the simulation's time."""

    def __init__(self, network: Network, cluster: Cluster) -> None:
        self.network = network
        self.cluster = cluster

    def deadline(self, seconds: float | None = None) -> int:
        """Return until when a request that begins now may take, in milliseconds; by default the cluster's timeout."""
        return self.network.now() + round(1000 * (self.cluster.timeout if seconds is None else seconds))

    def ask(
        self,
        request: Request[Answer],
        deadline: int,
        transient: frozenset[int] = TRANSIENT,
        *,
        pause: float = PAUSE,
    ) -> Answer:
        """Return the answer to a request, which is repeated until the deadline while its errors are transient.

        `pause` is in seconds: no request is sent again before.

        Raises:
            RequestError: the last error; `_TIMED_OUT` if no answer came.
        """
        while True:
            try:
                return self.network.call(request)
            except NoAnswer:
                error = RequestError(KafkaError._TIMED_OUT)
            except RequestError as answer:
                error = answer
                if error.code not in transient:
                    raise
            if self.network.now() + round(1000 * pause) > deadline:
                raise error
            self.network.sleep(pause)

    def explain(self, what: str, error: RequestError) -> StreamSystemError:
        """Return the error to raise about `what`, in the words of the real client."""
        return ClientProblems(self.cluster).explain(what, KafkaError(error.code))

    def explain_producer(self, owner: TransactionOwner, what: str, error: RequestError) -> StreamSystemError:
        """Return the error to raise for a producer; a fence is one of its own."""
        explained = self.explain(f"producer {owner.id}: {what}", error)
        if error.code not in FENCING:
            return explained
        return Fenced(
            f"{explained}. A later producer has taken over this id, or the transaction took longer than "
            f"{TRANSACTION_SECONDS} s: what was not committed ends here"
        )

    def initialise(self, owner: TransactionOwner) -> ProducerIdentity:
        """Take over a transactional id, once what earlier producers have left open is aborted.

        Raises:
            StreamSystemError: the brokers don't answer, or refuse.
        """
        request = InitProducerId(transactional_id=owner.id, timeout_ms=TRANSACTION_SECONDS * 1000)
        try:
            return self.ask(request, self.deadline(), COORDINATOR_TRANSIENT)
        except RequestError as error:
            raise self.explain_producer(owner, "the transactional id can't be initialised", error) from error
