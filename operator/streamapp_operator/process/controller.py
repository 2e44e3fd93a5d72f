"""The controller: workers take apps from a queue and reconcile them: observe, decide, act (docs/operator.md).

Handlers of watches only enqueue keys. An app is never reconciled by two workers at a time.
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from streamapp_core.deployment.kubernetes_names import EPOCH_LABEL
from streamapp_core.job_model.job_model_errors import JobModelOutdatedError
from streamapp_core.metadata_store import VersionConflict
from streamapp_operator.act.actor import Actor, NameTakenError
from streamapp_operator.decide.actions import Action, ActionKind, CreateObject, EmitEvent, WriteStatus
from streamapp_operator.decide.reconciliation import Decision, DecisionContext, decide
from streamapp_operator.observe.observed_state import AppMemory
from streamapp_operator.observe.observer import Observer
from streamapp_operator.observe.pod_problems import explain_refusal
from streamapp_operator.observe.resource_views import AppKey, AppResource
from streamapp_operator.observe.work_queue import WorkQueue
from streamapp_operator.process.operator_metrics import OperatorMetrics
from streamapp_operator.status.app_status import report_status
from streamapp_systems.kubernetes.kubernetes_api import KubernetesError, RequestRefusedError, VersionConflictError
from streamapp_systems.protocols import StreamSystemError

_log = structlog.get_logger()
_FIRST_BACKOFF, _LONGEST_BACKOFF = 0.2, 60.0
_CONFLICTS = (VersionConflict, JobModelOutdatedError, VersionConflictError)
"""Another writer was faster, or the cache is behind: the app is reconciled again from its newest state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerDependencies:
    """The dependencies of a controller, which has so many `workers`. `forget` is called with each app that is gone."""

    observer: Observer
    actor: Actor
    context: DecisionContext
    clock: Callable[[], datetime]
    forget: Callable[[AppKey], object]
    metrics: OperatorMetrics
    workers: int


class Controller:
    """Reconciles apps; errors are retried with backoff."""

    def __init__(self, dependencies: ControllerDependencies) -> None:
        self._dependencies = dependencies
        self._queue = WorkQueue[AppKey](
            time.monotonic, lambda key: key.namespace, most_workers=max(1, dependencies.workers - 1)
        )
        dependencies.metrics.queue_depth.set_function(self._queue.depth)
        self._memories: dict[AppKey, AppMemory] = {}
        self._failures: dict[AppKey, int] = {}
        self._threads: list[threading.Thread] = []
        self._waiting: set[AppKey] | None = set()
        self._lock = threading.Lock()

    def enqueue(self, key: AppKey) -> None:
        """Enqueue an app to be reconciled, from the start on. May be called from any thread."""
        with self._lock:
            if self._waiting is not None:
                self._waiting.add(key)
                return
        self._queue.add(key)

    def start(self) -> None:
        """Start the workers, each in its thread."""
        with self._lock:
            waiting, self._waiting = self._waiting or set(), None
        for key in waiting:
            self._queue.add(key)
        for number in range(self._dependencies.workers):
            thread = threading.Thread(target=self._work, name=f"worker-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self, timeout: float) -> None:
        """Stop the workers; each finishes the app that it has, for at most `timeout` seconds in all."""
        self._queue.close()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def measure_stall(self) -> float:
        """Return for how many seconds an app has been reconciled, or no app that is due has."""
        return self._queue.longest_stall()

    def reconcile(self, key: AppKey) -> float | None:
        """Observe, decide and act once; return in how many seconds to reconcile again if nothing changes.

        Raises:
            KubernetesError, StreamSystemError, NameTakenError: an action failed; those after it were not carried out.
        """
        now = self._dependencies.clock()
        observed = self._dependencies.observer.observe(key, now, self._memories.get(key, AppMemory()))
        if observed is None:
            self._forget(key)
            return None
        decision = decide(observed, self._dependencies.context)
        self._memories[key] = decision.memory
        try:
            self._act(observed.app, (*decision.actions, *report_status(observed, decision)))
        except (RequestRefusedError, NameTakenError) as error:
            refused = isinstance(error, RequestRefusedError)
            self._report_refusal(key, explain_refusal(str(error)) if refused else str(error))
            if (delay := _delay(decision, now)) is not None:
                self._queue.add(key, delay)
            raise
        return _delay(decision, now)

    def _act(self, app: AppResource, actions: Iterable[Action]) -> None:
        for action in actions:
            if not isinstance(action, WriteStatus | EmitEvent):
                _log.info("acting", app=str(app.key), action=action.action_kind.value)
            self._dependencies.metrics.actions.labels(action=action.action_kind.value).inc()
            try:
                self._dependencies.actor.act(app, action)
            except (RequestRefusedError, NameTakenError) as error:
                self._note_refused_driver(app, action, str(error))
                raise

    def _note_refused_driver(self, app: AppResource, action: Action, refusal: str) -> None:
        if isinstance(action, CreateObject) and action.action_kind is ActionKind.CREATE_DRIVER:
            epoch = int(action.body["metadata"]["labels"][EPOCH_LABEL])
            self._memories[app.key] = replace(self._memories[app.key], refused_epoch=epoch, refusal=refusal)

    def _report_refusal(self, key: AppKey, refusal: str) -> None:
        """Write to the status why an action of the decision was refused."""
        observed = self._dependencies.observer.observe(key, self._dependencies.clock(), self._memories[key])
        if observed is not None:
            decision = decide(observed, self._dependencies.context)
            self._act(observed.app, report_status(observed, decision, refusal))

    def _work(self) -> None:
        while (key := self._queue.take()) is not None:
            try:
                self._reconcile_or_retry(key)
            finally:
                self._queue.done(key)

    def _reconcile_or_retry(self, key: AppKey) -> None:
        try:
            with self._dependencies.metrics.reconcile_seconds.time():
                delay = self.reconcile(key)
        except _CONFLICTS as error:
            _log.info("decided from an outdated state; reconciling again", app=str(key), reason=str(error))
            self._retry(key, error)
        except (KubernetesError, StreamSystemError, NameTakenError) as error:
            _log.warning("an action failed; reconciling again", app=str(key), error=str(error))
            self._retry(key, error)
        except Exception as error:  # noqa: BLE001 - what is wrong with one app must not stop the others
            _log.exception("this is a bug; reconciling again", app=str(key))
            self._retry(key, error)
        else:
            self._failures.pop(key, None)
            if delay is not None:
                self._queue.add(key, delay)

    def _retry(self, key: AppKey, error: Exception) -> None:
        self._dependencies.metrics.errors.labels(error=type(error).__name__).inc()
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self._queue.add(key, min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2 ** min(failures - 1, 20)))

    def _forget(self, key: AppKey) -> None:
        self._memories.pop(key, None)
        self._failures.pop(key, None)
        self._dependencies.forget(key)


def _delay(decision: Decision, now: datetime) -> float | None:
    return None if decision.wake_at is None else max(0.0, (decision.wake_at - now).total_seconds())
