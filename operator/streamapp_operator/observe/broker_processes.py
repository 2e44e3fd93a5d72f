"""The processes that ask the brokers of apps: so many in all and per namespace, each killed when it is late."""

import time

from streamapp_operator.observe.broker_requests import (
    BrokerAnswer,
    BrokerRequest,
    CountPartitions,
    answer_request,
    read_answer,
)
from streamapp_operator.observe.limited_process import ProcessFailedError, ProcessLimits, preload, run_limited
from streamapp_operator.observe.tenant_slots import SlotsTakenError, TenantSlots
from streamapp_systems.protocols import StreamSystemError

PROCESSES = 8
PROCESSES_OF_NAMESPACE = 3
_MEMORY = 64 * 1024 * 1024
"""Bytes of one process, above what all of them share. A client with brokers that behave takes a quarter of it."""
_COUNT = ProcessLimits(seconds=15.0, memory=_MEMORY)
_OTHER = ProcessLimits(seconds=60.0, memory=_MEMORY)


class BrokerProcesses:
    """Asks brokers. For many threads."""

    def __init__(self) -> None:
        preload(answer_request.__module__)
        self._slots = TenantSlots(PROCESSES, PROCESSES_OF_NAMESPACE, time.monotonic)

    def ask(self, namespace: str, request: BrokerRequest) -> BrokerAnswer:
        """Send a request of a namespace's app, and return the answer.

        Raises:
            StreamSystemError: the brokers can't be reached, refuse, or did not answer as brokers do.
            JobModelUnreadableError: the backup that was asked for is damaged, or of a later release.
        """
        limits = _COUNT if isinstance(request, CountPartitions) else _OTHER
        try:
            with self._slots.take(namespace, limits.seconds):
                return read_answer(run_limited(answer_request, request, limits))
        except SlotsTakenError:
            raise StreamSystemError(
                f"{request.cluster}: other requests to brokers, of this namespace or of others, take long; this one is "
                "sent again"
            ) from None
        except (ProcessFailedError, ValueError) as error:
            raise StreamSystemError(
                f"{request.cluster}: its brokers do not answer as Kafka's do, or its settings keep the client from "
                f"working: {error}. Check bootstrapServers and config"
            ) from None
