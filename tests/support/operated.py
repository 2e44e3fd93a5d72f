"""A Kubernetes operator on a cluster in memory, with stand-ins for kubelets, Spark and drivers."""

from datetime import UTC, datetime, timedelta

import yaml

from streamapp_core.deployment.app_record import RECORD, AppRecord
from streamapp_core.deployment.driver_reports import LOCALITY, PROGRESS, DriverPhase, LocalityReport, ProgressReport
from streamapp_core.deployment.kubernetes_names import driver_pod, executor_prefix
from streamapp_core.job_model.stored_job_model import read_job_model
from streamapp_operator.act.actor import Actor
from streamapp_operator.decide.reconciliation import DecisionContext
from streamapp_operator.decide.validation import CachingPlanner
from streamapp_operator.observe.document_recovery import JobModelBackup
from streamapp_operator.observe.informer import Informer
from streamapp_operator.observe.namespace_selection import NamespaceSelection
from streamapp_operator.observe.object_cache import WATCHED, CachedApi, ObjectCache
from streamapp_operator.observe.observed_state import AppNetwork, DriverRole, StreamCounts
from streamapp_operator.observe.observer import Observer
from streamapp_operator.observe.resource_views import AppKey
from streamapp_operator.process.controller import Controller, ControllerDependencies
from streamapp_operator.process.operator_metrics import OperatorMetrics
from streamapp_systems.kubernetes.kubernetes_api import Kind
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore
from streamapp_systems.protocols import StreamSystemError
from support.kubernetes_api import MemoryCluster

SHOP = """
image: registry.invalid/streamapp:1
systems: {kafka: {kafka: {bootstrapServers: "kafka:9092"}}}
streams:
  orders: {system: kafka, schema: "item string, amount double, at timestamp", key: item, eventTime: {column: at}}
  totals: {system: kafka}
operators:
  - {name: per-item, from: orders, aggregate: {by: [item], select: "sum(amount) as amount"}}
  - {name: sent, from: per-item, sendTo: totals}
processors: {count: 2, state: {hostPath: /var/lib/streamapp}}
"""
PLANNER = CachingPlanner()
"""Its verdicts are pure: all tests share them."""
SPEC = yaml.safe_load(SHOP)
SENT = {"name": "sent", "from": "per-item", "sendTo": "totals"}
BROKEN = [{"name": "per-item", "from": "orders", "aggregate": {"by": ["item"], "select": "sum(amout) as amount"}}, SENT]
"""Operators with a column that does not exist."""
BOUNDED = {"orders": {**SPEC["streams"]["orders"], "bounded": True}, "totals": {"system": "kafka"}}
"""Streams that end."""


class Died(BaseException):
    """The operator's process is killed."""


class DyingApi:
    """An API whose n-th write is the last thing that the process does."""

    def __init__(self, cluster, writes=None):
        self._cluster = cluster
        self._left = writes

    def __getattr__(self, name):
        method = getattr(self._cluster, name)
        if name in ("get", "list"):
            return method

        def write(*args, **kwargs):
            answer = method(*args, **kwargs)
            if self._left is not None:
                self._left -= 1
                if self._left == 0:
                    raise Died
            return answer

        return write


class Operated:
    """The cluster, the operator, and everybody else. `counts` are the partitions of all streams."""

    def __init__(self, counts=None, dies_after=None):
        self.driver_role = DriverRole(kind="ClusterRole", name="streamapp-driver")
        self.network = AppNetwork(isolated=True)
        self.planner = PLANNER
        self.defaults = {}
        self.namespaces = NamespaceSelection()
        self.now = datetime(2025, 1, 1, tzinfo=UTC)
        self.cluster = MemoryCluster(now=self.time)
        self.counts = {"orders": 4, "totals": 4} if counts is None else counts
        self.broker_error = None
        self.backup = None
        self.deleted_streams = []
        self.actions = []
        self.died = False
        self.start(dies_after)

    def time(self):
        return self.now.isoformat(timespec="seconds").replace("+00:00", "Z")

    def start(self, dies_after=None):
        """Start the operator, or another one after the last has died."""
        api = DyingApi(self.cluster, dies_after)
        cache = ObjectCache()
        cached = CachedApi(api, cache)
        self.due = set()
        self.wakes = {}
        self.metrics = OperatorMetrics()
        self.controller = Controller(
            ControllerDependencies(
                observer=Observer(
                    cached,
                    cache,
                    self._read_counts,
                    self._read_backup,
                    lambda: "run1",
                    defaults=self.defaults,
                    namespaces=self.namespaces,
                ),
                actor=Actor(cached, self._delete_streams, lambda: self.now, self.actions.append),
                context=DecisionContext(
                    planner=self.planner,
                    driver_role=self.driver_role,
                    executor_timeout=timedelta(seconds=30),
                    network=self.network,
                ),
                clock=lambda: self.now,
                forget=lambda key: None,
                metrics=self.metrics,
                workers=1,
            )
        )
        informer = Informer(self.cluster, cache, self.due.add, self.namespaces)
        informer.list_all()
        self.cluster.listeners[:] = [lambda *event: event[1] in WATCHED and handle_event(informer, *event)]

    def reconcile_all(self):
        """Reconcile until no app is queued."""
        for _ in range(2_000):
            if not self.due:
                return
            key = self.due.pop()
            try:
                delay = self.controller.reconcile(key)
            except Died:
                self.died = True
                self.start()
                continue
            if delay is None:
                self.wakes.pop(key, None)
            else:
                self.wakes[key] = self.now + timedelta(seconds=delay)
        raise AssertionError("it does not come to rest")

    def later(self, **time):
        """Pass time, and reconcile whenever the operator asked for it."""
        until = self.now + timedelta(**time)
        while (woken := min(self.wakes.items(), key=lambda wake: wake[1], default=None)) and woken[1] <= until:
            self.now = max(self.now, woken[1])
            del self.wakes[woken[0]]
            self.due.add(woken[0])
            self.reconcile_all()
        self.now = until

    def look(self):
        """Reconcile every app, as after a change elsewhere (a broker's)."""
        self.due.update(AppKey(namespace=i["metadata"]["namespace"], name=i["metadata"]["name"]) for i in self.apps())
        self.reconcile_all()

    def apps(self):
        return self.cluster.list(Kind.APP, None)

    # The user.

    def apply(self, name="shop", spec=SPEC, **changes):
        spec = {**spec, **changes}
        if self.cluster.get(Kind.APP, "default", name) is None:
            self.cluster.create(Kind.APP, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
        else:
            self.cluster.respecify("default", name, spec)
        return self

    def delete(self, name="shop"):
        self.cluster.delete(Kind.APP, "default", name)

    # What there is.

    def app(self, name="shop"):
        return self.cluster.get(Kind.APP, "default", name)

    def status(self, name="shop"):
        return self.app(name)["status"]

    def condition(self, kind, name="shop"):
        (found,) = [entry for entry in self.status(name)["conditions"] if entry["type"] == kind]
        return found["status"], found["reason"]

    def store(self, name="shop"):
        return ConfigMapMetadataStore(self.cluster, "default", name, owners=[owner(self.app(name))])

    def record(self, name="shop"):
        return AppRecord.read(self.store(name), RECORD)

    def model(self, name="shop"):
        return read_job_model(self.store(name))

    def pods(self, role="driver", name="shop"):
        found = self.cluster.list(Kind.POD, "default", f"streamapp.dev/app={name},streamapp.dev/role={role}")
        return [pod["metadata"]["name"] for pod in found]

    def writes(self):
        return sum(self.cluster.writes.values())

    # The kubelets and Spark.

    def pod_is(self, name, phase, *, node="node-a", ready=None, exit_code=None, **status):
        pod = self.cluster.get(Kind.POD, "default", name)
        main = pod["spec"]["containers"][0]["name"]
        state = {"running": {"startedAt": self.time()}}
        if exit_code is not None:
            before = pod.get("status", {}).get("containerStatuses", [{}])[0].get("state", {})
            started = before.get("running", {}).get("startedAt", self.time())
            state = {"terminated": {"exitCode": exit_code, "startedAt": started, "finishedAt": self.time()}}
        ready = phase == "Running" if ready is None else ready
        self.cluster.change(
            Kind.POD,
            "default",
            name,
            spec={**pod["spec"], "nodeName": node},
            status={
                "phase": phase,
                "conditions": [{"type": "Ready", "status": str(ready)}],
                "containerStatuses": [{"name": main, "state": state, "containerID": f"containerd://{name}"}],
                **status,
            },
        )

    def stuck(self, name, reason):
        waiting = {"waiting": {"reason": reason, "message": "why"}}
        self.cluster.change(
            Kind.POD,
            "default",
            name,
            status={"phase": "Pending", "containerStatuses": [{"name": "driver", "state": waiting}]},
        )

    def gone(self, name):
        self.cluster.remove(Kind.POD, "default", name)

    def all_gone(self, name="shop"):
        """Remove the pods of the app's driver and processors, as their nodes do when they have ended."""
        for pod in (*self.pods(name=name), *self.pods("processor", name=name)):
            self.gone(pod)
        self.reconcile_all()

    def executor(self, number, node, name="shop", phase="Running"):
        """Create an executor as Spark does; it starts on a node."""
        launch = self.record(name).launch
        driver = self.cluster.get(Kind.POD, "default", driver_pod(name, launch.epoch))
        template = launch.executor_template
        pod = f"{executor_prefix(name, launch.epoch)}-exec-{number}"
        labels = {**template["metadata"]["labels"], "spark-exec-id": str(number)}
        metadata = {"name": pod, "namespace": "default", "labels": labels, "ownerReferences": [owner(driver)]}
        self.cluster.create(Kind.POD, {"metadata": metadata, "spec": template["spec"]})
        self.pod_is(pod, phase, node=node)
        return pod

    # The driver.

    def runs(self, name="shop"):
        """Run the driver's pod and its executors, and report that all processors run."""
        epoch = self.record(name).launch.epoch
        self.pod_is(driver_pod(name, epoch), "Running")
        self.reconcile_all()
        for number in range(self.record(name).launch.processors):
            self.executor(number + 1, f"node-{'abc'[number % 3]}", name)
        self.reconcile_all()
        self.reports(name)
        self.reconcile_all()
        return self

    def reports(self, name="shop", phase=DriverPhase.RUNNING, **more):
        """Report, as the driver does, that all processors of the newest job model run with open tasks."""
        stored = self.model(name)
        locations = {}
        for task in stored.model.tasks.values():
            at = stored.model.processors[task.processor].location
            locations.setdefault(at, []).append(task.changelog_partition)
        common = {"run_id": stored.model.run_id, "epoch": stored.epoch}
        progress = ProgressReport(
            **common,
            phase=phase,
            since=self.now,
            version=stored.model.version,
            running=tuple(stored.model.processors),
            **more,
        )
        self.store(name).put(LOCALITY, LocalityReport(**common, locations=locations).to_bytes())
        self.store(name).put(PROGRESS, progress.to_bytes())

    def _read_counts(self, resource):
        return StreamCounts(error=self.broker_error) if self.broker_error else StreamCounts(known=self.counts)

    def backs_up(self, name="shop"):
        """Write the active job model to the coordinator stream, as the driver does."""
        stored = self.model(name)
        self.backup = JobModelBackup(model=stored.model, epoch=stored.epoch)

    def _read_backup(self, resource):
        if self.broker_error:
            raise StreamSystemError(self.broker_error)
        return self.backup

    def _delete_streams(self, namespace, prefix, systems):
        self.deleted_streams.append(prefix)


def handle_event(informer, change, kind, item):
    if kind is Kind.APP or ("streamapp.dev/app" in item["metadata"].get("labels", {}) and not shard(item)):
        informer.handle_event(change, kind, item)


def shard(item):
    return "streamapp.dev/shard" in item["metadata"]["labels"]


def owner(item):
    return {"uid": item["metadata"]["uid"], "name": item["metadata"]["name"]}
