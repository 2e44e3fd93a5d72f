"""A transactional Kafka client: the fencing of earlier producers, and its calls with their errors told apart."""

import math
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress

from confluent_kafka import KafkaError, KafkaException, Producer

from streamapp_core.spec.kafka_client_settings import ClientKind
from streamapp_systems.kafka.client_config import RESEND_SECONDS, TRANSACTION_SECONDS, Cluster
from streamapp_systems.kafka.kafka_client import explained_settings
from streamapp_systems.kafka.kafka_errors import FENCING, ClientProblems
from streamapp_systems.kafka.missing_rights import on_topic, on_transactional_id
from streamapp_systems.protocols import CommitUnknown, Fenced, StreamSystemError, TransactionOwner

_SLICE_SECONDS = 1.0


class TransactionClient:
    """One transactional id's client. Every call ends, or fails with its reason, within the cluster's timeout."""

    def __init__(self, cluster: Cluster, owner: TransactionOwner) -> None:
        self.owner = owner
        self.problems = ClientProblems(cluster)
        self.topics: Collection[str] = ()
        """The topics that the open transaction writes to: which of them may not be written to, no error says."""
        self._timeout = cluster.timeout
        self._ending_since: float | None = None
        self.perhaps_ended_twice = False
        """Whether the client may have asked twice to end a transaction, after a disconnection for example. It does so
        by itself and tells nobody. The earlier request may still arrive, and then it ends whatever transaction of this
        client's epoch is open: begin no other one with it."""
        with explained_settings(cluster):
            self.producer = Producer({**cluster.client(ClientKind.PRODUCER, owner), "error_cb": self.problems.note})

    def initialise(self) -> None:
        """Fence earlier producers of the id; what they did not commit is aborted."""
        with self.explained("the transactional id can't be initialised"):
            self._retry(self.producer.init_transactions, slice_seconds=_SLICE_SECONDS)

    def take_lost_connection(self) -> bool:
        """Return whether a broker could not be reached since this was asked last."""
        self._poll_events()
        lost, self.problems.lost_connection = self.problems.lost_connection, False
        return lost

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
            self._end(self.producer.commit_transaction)
            self.problems.clear()
        except (KafkaException, SystemError) as error:
            cause = _client_error(error)
            if not cause.fatal() and not cause.txn_requires_abort():
                self._poll_events()
                explained = self.problems.explain(
                    self._who("whether the transaction was committed is not known"), cause
                )
                raise CommitUnknown(str(explained)) from error
            with self.explained("the transaction failed and can't be committed, only aborted"):
                raise

    def abort(self) -> None:
        """Abort the open transaction, asking again while the answer is missing.

        What is on its way arrives first: the brokers refuse to abort a transaction they do not know yet.
        """
        with suppress(StreamSystemError):
            self.flush()
        with self.explained("the transaction can't be aborted"):
            self._end(self.producer.abort_transaction)

    def refusal_cause(self, refusal: KafkaException | SystemError) -> KafkaException | SystemError:
        """Return why a record was refused: of a failed transaction the client says why only at a commit.

        The commit can't succeed: a failed transaction can only be aborted.
        """
        if _client_error(refusal).code() in (KafkaError._STATE, KafkaError._FATAL):
            try:
                self.producer.commit_transaction(self._timeout)
            except (KafkaException, SystemError) as failure:
                return failure
        return refusal

    def drop(self) -> None:
        """Drop what is in flight and release the connections; an open transaction is left to the id's next owner."""
        self.producer.purge(in_queue=True, in_flight=True, blocking=False)
        self._poll_events()
        del self.producer

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """Translate the client's errors; a fence is one of its own.

        Raises:
            Fenced: another producer has the id.
            StreamSystemError: anything else.
        """
        try:
            yield
        except (KafkaException, SystemError) as error:
            cause = _client_error(error)
            self._poll_events()
            needs = {**on_transactional_id(self.owner.id), **on_topic("Write", *self.topics)}
            explained = self.problems.explain(self._who(what), cause, needs)
            if cause.code() in FENCING:
                raise Fenced(
                    f"{explained}. A later producer has taken over this id, or the transaction took longer than "
                    f"{TRANSACTION_SECONDS} s: what was not committed ends here"
                ) from error
            raise explained from error

    def _end(self, call: Callable[[float], None]) -> None:
        """End the transaction; an answer that comes before the client would ask again is that of its only request."""
        if self._ending_since is None:
            self._ending_since = time.monotonic()
        self._retry(call)
        self.perhaps_ended_twice |= time.monotonic() - self._ending_since >= RESEND_SECONDS
        self._ending_since = None

    def _retry(self, call: Callable[[float], None], slice_seconds: float = math.inf) -> None:
        """Call a function that continues when it is called again, polling the client's events after each slice."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return call(max(min(deadline - time.monotonic(), slice_seconds), 0.1))
            except (KafkaException, SystemError) as error:
                self._poll_events()
                stop = time.monotonic() >= deadline or self.problems.permanent
                if stop or not _client_error(error).retriable():
                    raise

    def _poll_events(self) -> None:
        """Poll the client's events; a fatal error among them is known already."""
        with suppress(KafkaException, SystemError):
            self.producer.poll(0)

    def _who(self, what: str) -> str:
        return f"producer {self.owner.id}: {what}"


def _client_error(error: KafkaException | SystemError) -> KafkaError:
    """Read the error of a client's call; a fatal one is hidden when callbacks were still to be made after it."""
    original = error if isinstance(error, KafkaException) else error.__cause__
    if not isinstance(original, KafkaException):
        raise error
    client_error: KafkaError = original.args[0]
    return client_error


def fence_producers(cluster: Cluster, owner: TransactionOwner) -> None:
    """Initialise a transactional id and release it: earlier producers of the id can't commit any more.

    Raises:
        StreamSystemError: the brokers can't be reached, or refuse.
    """
    client = TransactionClient(cluster, owner)
    try:
        client.initialise()
    finally:
        client.drop()
