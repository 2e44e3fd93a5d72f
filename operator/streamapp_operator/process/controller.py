"""The loop around decisions: apps come from a queue, are observed, decided about, and acted on (design 10).

Handlers only put keys into the queue. Several workers take them; one app is never with two of them.
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import structlog

from streamapp_core.deployment.kubernetes_names import EPOCH_LABEL
from streamapp_core.job_model.job_model_errors import JobModelOutdatedError
from streamapp_core.metadata_store import VersionConflict
from streamapp_operator.act.actor import Actor, NameTakenError
from streamapp_operator.decide.actions import Action, ActionKind, CreateObject, EmitEvent, WriteStatus
from streamapp_operator.decide.reconciliation import Rules, decide
from streamapp_operator.observe.observed_state import Memory
from streamapp_operator.observe.observer import Observer
from streamapp_operator.observe.resource_views import AppKey, AppResource
from streamapp_operator.process.operator_metrics import Metrics
from streamapp_operator.process.work_queue import WorkQueue
from streamapp_operator.status.app_status import status_actions
from streamapp_systems.kubernetes.kubernetes_api import KubernetesError, RequestRefusedError, VersionConflictError
from streamapp_systems.protocols import StreamSystemError

_log = structlog.get_logger()
_FIRST_DELAY, _LONGEST_DELAY = 0.2, 60.0
_STALE = (VersionConflict, JobModelOutdatedError, VersionConflictError)
"""Somebody was faster, or the cache is behind: what is there now decides."""


class Forget(Protocol):
    """Is told of apps that are gone."""

    def __call__(self, key: AppKey) -> None:
        """Forget what is remembered of an app."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a controller works with."""

    observer: Observer
    actor: Actor
    rules: Rules
    clock: Callable[[], datetime]
    forget: Forget
    metrics: Metrics


class Controller:
    """Reconciles apps."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._queue: WorkQueue[AppKey] = WorkQueue(time.monotonic)
        self._memories: dict[AppKey, Memory] = {}
        self._failures: dict[AppKey, int] = {}
        self._threads: list[threading.Thread] = []

    def enqueue(self, key: AppKey) -> None:
        """Have an app looked at soon. May be called from any thread."""
        self._queue.add(key)

    def start(self, workers: int) -> None:
        """Start so many workers."""
        for number in range(workers):
            thread = threading.Thread(target=self._work, name=f"worker-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self, patience: float) -> None:
        """Let the workers finish what they are at, and end."""
        self._queue.close()
        for thread in self._threads:
            thread.join(patience)

    def lag(self) -> float:
        """Tell for how many seconds the app that waits longest has been due."""
        self._parts.metrics.waiting.set(self._queue.depth())
        return self._queue.oldest()

    def reconcile(self, key: AppKey) -> float | None:
        """Observe, decide and act once; tell in how many seconds to come again if nothing happens.

        Raises:
            KubernetesError, StreamSystemError, NameTakenError: a step failed; the ones after it were not taken.
        """
        now = self._parts.clock()
        observed = self._parts.observer.observe(key, now, self._memories.get(key, Memory()))
        if observed is None:
            self._forget(key)
            return None
        decision = decide(observed, self._parts.rules)
        self._memories[key] = decision.memory
        try:
            self._act(observed.app, (*decision.actions, *status_actions(observed, decision)))
        except (RequestRefusedError, NameTakenError) as error:
            self._tell(key, str(error))
            raise
        if decision.wake_at is None:
            return None
        return max(0.0, (decision.wake_at - now).total_seconds())

    def _act(self, app: AppResource, actions: Iterable[Action]) -> None:
        for action in actions:
            if not isinstance(action, WriteStatus | EmitEvent):
                _log.info("step", app=str(app.key), step=action.action_kind.value)
            self._parts.metrics.steps.labels(step=action.action_kind.value).inc()
            try:
                self._parts.actor.act(app, action)
            except (RequestRefusedError, NameTakenError):
                self._note_refused_driver(app, action)
                raise

    def _note_refused_driver(self, app: AppResource, action: Action) -> None:
        if isinstance(action, CreateObject) and action.action_kind is ActionKind.CREATE_DRIVER:
            epoch = int(action.body["metadata"]["labels"][EPOCH_LABEL])
            self._memories[app.key] = replace(self._memories[app.key], refused_epoch=epoch)

    def _tell(self, key: AppKey, refusal: str) -> None:
        """Let the status say why what was decided can't be done."""
        observed = self._parts.observer.observe(key, self._parts.clock(), self._memories[key])
        if observed is not None:
            decision = decide(observed, self._parts.rules)
            self._act(observed.app, status_actions(observed, decision, refusal))

    def _work(self) -> None:
        while (key := self._queue.take()) is not None:
            try:
                self._pass(key)
            finally:
                self._queue.done(key)

    def _pass(self, key: AppKey) -> None:
        try:
            with self._parts.metrics.passes.time():
                delay = self.reconcile(key)
        except _STALE as error:
            _log.info("decided from an old state; deciding again", app=str(key), reason=str(error))
            self._again(key, error)
        except (KubernetesError, StreamSystemError, NameTakenError) as error:
            _log.warning("a step failed; trying again", app=str(key), error=str(error))
            self._again(key, error)
        except Exception as error:  # noqa: BLE001 - what is wrong with one app must not stop the others
            _log.exception("this is a bug; trying again", app=str(key))
            self._again(key, error)
        else:
            self._failures.pop(key, None)
            if delay is not None:
                self._queue.add(key, delay)

    def _again(self, key: AppKey, error: Exception) -> None:
        self._parts.metrics.failures.labels(error=type(error).__name__).inc()
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self._queue.add(key, min(_LONGEST_DELAY, _FIRST_DELAY * 2 ** min(failures - 1, 20)))

    def _forget(self, key: AppKey) -> None:
        self._memories.pop(key, None)
        self._failures.pop(key, None)
        self._parts.forget(key)
