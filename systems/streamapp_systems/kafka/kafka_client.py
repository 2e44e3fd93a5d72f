"""Opens Kafka clients and waits for their answers, always with a deadline."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

from streamapp_systems.kafka.client_config import PROPAGATION_SECONDS, Cluster
from streamapp_systems.kafka.kafka_errors import TRANSIENT
from streamapp_systems.protocols import StreamSystemError

PAUSE = 0.1
"""Seconds between two requests."""

NO_ANSWER = KafkaError(KafkaError._TIMED_OUT, "no answer")

Key = TypeVar("Key")
Answer = TypeVar("Answer")


@contextmanager
def explained_settings(cluster: Cluster) -> Iterator[None]:
    """Explain why a client can't be made of the cluster's settings.

    Raises:
        StreamSystemError: a value is wrong, or a file that it names can't be read.
    """
    try:
        yield
    except KafkaException as error:
        reason = error.args[0].str()
        raise StreamSystemError(f"{cluster}: {reason}. Correct spec.systems.{cluster.name}.kafka.config") from error


def ask_until_known(ask: Callable[[], Answer], is_complete: Callable[[Answer], bool]) -> Answer:
    """Ask for what must be there until the answer is complete; return the last answer after some seconds at most.

    Brokers learn of topics and partitions one by one, and one that has stood still answers from before.
    """
    return ask_until(ask, is_complete, time.monotonic() + PROPAGATION_SECONDS)


def ask_until(ask: Callable[[], Answer], is_complete: Callable[[Answer], bool], deadline: float) -> Answer:
    """Ask until the answer is complete; return the last one at a deadline, in seconds of the monotonic clock."""
    while True:
        answer = ask()
        if is_complete(answer) or time.monotonic() >= deadline:
            return answer
        time.sleep(PAUSE)


def request_with_retry(
    ask: Callable[[Sequence[Key]], Mapping[Key, Future[Answer]]],
    keys: Sequence[Key],
    deadline: float,
    transient: frozenset[int] = TRANSIENT,
    *,
    permanent: Callable[[], bool],
    error_in: Callable[[Answer], KafkaError | None] = lambda _: None,
) -> tuple[Mapping[Key, Answer], Mapping[Key, KafkaError]]:
    """Request all keys at once, and again those whose error is transient, until the deadline.

    `deadline` is in seconds of the monotonic clock; a permanent problem of the client ends the retries. `error_in`
    returns the error that an answer holds, if it does.

    Returns the answers and the errors that remained.
    """
    answers: dict[Key, Answer] = {}
    errors: dict[Key, KafkaError] = {}
    while keys:
        asked = ask(keys)
        while wait(asked.values(), PAUSE).not_done and not permanent():
            continue
        for key, future in asked.items():
            errors.pop(key, None)
            try:
                answer = future.result(0)
                if error := error_in(answer):
                    errors[key] = error
                else:
                    answers[key] = answer
            except KafkaException as error:
                errors[key] = error.args[0]
            except TimeoutError:
                errors[key] = NO_ANSWER
        keys = [key for key in keys if key in errors and errors[key].code() in transient]
        if not keys or time.monotonic() + PAUSE > deadline or permanent():
            break
        time.sleep(PAUSE)
    return answers, errors
