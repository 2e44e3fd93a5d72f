"""A transactional Kafka client: its owner's take-over, and its steps with their errors told apart."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from confluent_kafka import KafkaError, KafkaException, Producer

from streamapp_systems.kafka.client_config import TRANSACTION_SECONDS, ClientKind, Cluster
from streamapp_systems.kafka.kafka_client import opening
from streamapp_systems.kafka.kafka_errors import FENCING, Trouble
from streamapp_systems.protocols import CommitUnknown, Fenced, StreamSystemError, TransactionOwner

_SLICE_SECONDS = 1.0


class TransactionClient:
    """One transactional id's client. Every step ends, or fails with its reason, within the cluster's timeout."""

    def __init__(self, cluster: Cluster, owner: TransactionOwner) -> None:
        self.owner = owner
        self.trouble = Trouble(cluster)
        self._timeout = cluster.timeout
        with opening(cluster):
            self.producer = Producer({**cluster.client(ClientKind.PRODUCER, owner), "error_cb": self.trouble.noticed})

    def initialise(self) -> None:
        """Shut out earlier producers of the id; what they did not commit is aborted."""
        with self.explained("the transactional id can't be initialised"):
            self._repeat(self.producer.init_transactions, slice_seconds=_SLICE_SECONDS)

    def begin(self) -> None:
        """Open a transaction."""
        with self.explained("a transaction can't be opened"):
            self.producer.begin_transaction()

    def flush(self) -> None:
        """Wait until all that was produced is with the brokers, or has failed there."""
        deadline = time.monotonic() + self._timeout
        with self.explained("records can't be sent"):
            while self.producer.flush(max(deadline - time.monotonic(), 0.0)):
                if time.monotonic() >= deadline:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"no answer for {self._timeout:g} s"))

    def commit(self) -> None:
        """Commit, asking again while the answer is missing.

        Raises:
            Fenced: another producer has the id.
            CommitUnknown: no answer came; call this again, or exit.
            StreamSystemError: it failed, nothing is visible; abort.
        """
        try:
            self._repeat(self.producer.commit_transaction)
            self.trouble.over()
        except (KafkaException, SystemError) as error:
            cause = _client_error(error)
            if not cause.fatal() and not cause.txn_requires_abort():
                self._listen()
                told = self.trouble.explain(self._who("whether the transaction was committed is not known"), cause)
                raise CommitUnknown(str(told)) from error
            with self.explained("the transaction failed and can't be committed, only aborted"):
                raise

    def abort(self) -> None:
        """Abort the open transaction, asking again while the answer is missing.

        What is on its way arrives first: the brokers refuse to abort what they have not heard of yet.
        """
        with suppress(StreamSystemError):
            self.flush()
        with self.explained("the transaction can't be aborted"):
            self._repeat(self.producer.abort_transaction)

    def cause(self, refusal: KafkaException | SystemError) -> KafkaException | SystemError:
        """Tell why a record was refused: of a transaction that has failed, the client says why only at a commit.

        That can't commit it any more: from its failure on, there is only the way to an abort.
        """
        if _client_error(refusal).code() in (KafkaError._STATE, KafkaError._FATAL):
            try:
                self.producer.commit_transaction(self._timeout)
            except (KafkaException, SystemError) as failure:
                return failure
        return refusal

    def drop(self) -> None:
        """Forget what is in flight and release the connections; an open transaction is left to the id's next owner."""
        self.producer.purge(in_queue=True, in_flight=True, blocking=False)
        self._listen()
        del self.producer

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """Translate the client's errors, telling a fence from all else.

        Raises:
            Fenced: another producer has the id.
            StreamSystemError: anything else.
        """
        try:
            yield
        except (KafkaException, SystemError) as error:
            cause = _client_error(error)
            self._listen()
            told = self.trouble.explain(self._who(what), cause)
            if cause.code() in FENCING:
                raise Fenced(
                    f"{told}. A later producer has taken over this id, or the transaction took longer than "
                    f"{TRANSACTION_SECONDS} s: what was not committed ends here"
                ) from error
            raise told from error

    def _repeat(self, step: Callable[[float], None], slice_seconds: float = math.inf) -> None:
        """Do a step that goes on when it is called again, hearing what the client has noticed after each slice."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return step(max(min(deadline - time.monotonic(), slice_seconds), 0.1))
            except (KafkaException, SystemError) as error:
                self._listen()
                over = time.monotonic() >= deadline or self.trouble.hopeless
                if over or not _client_error(error).retriable():
                    raise

    def _listen(self) -> None:
        """Let the client tell what it has noticed; a fatal error that it tells so is known already."""
        with suppress(KafkaException, SystemError):
            self.producer.poll(0)

    def _who(self, what: str) -> str:
        return f"producer {self.owner.id}: {what}"


def _client_error(error: KafkaException | SystemError) -> KafkaError:
    """Read the error of a client's call; a fatal one is hidden when callbacks were still to be made after it."""
    original = error if isinstance(error, KafkaException) else error.__cause__
    if not isinstance(original, KafkaException):
        raise error
    told: KafkaError = original.args[0]
    return told


def take_over(cluster: Cluster, owner: TransactionOwner) -> None:
    """Initialise a transactional id and let go of it: earlier producers of the id can't commit any more.

    Raises:
        StreamSystemError: the brokers can't be reached, or refuse.
    """
    client = TransactionClient(cluster, owner)
    try:
        client.initialise()
    finally:
        client.drop()
