"""From the cache to a view of one app: documents are read, and remembered by their versions."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from streamapp_core.deployment.app_documents import DocumentUnreadableError, StoredDocument
from streamapp_core.deployment.app_record import RECORD, AppRecord
from streamapp_core.deployment.driver_reports import LOCALITY, PROGRESS, LocalityReport, ProgressReport
from streamapp_core.deployment.kubernetes_names import driver_account
from streamapp_core.job_model.job_model_errors import JobModelUnreadableError
from streamapp_core.job_model.job_model_shards import POINTER
from streamapp_core.job_model.stored_job_model import StoredJobModel, read_job_model
from streamapp_core.metadata_store import ABSENT
from streamapp_operator.observe.document_recovery import AskAnnounced, Found, Loss, loss
from streamapp_operator.observe.object_cache import ObjectCache
from streamapp_operator.observe.observed_state import Bound, DriverRole, Memory, Observed, StreamCounts
from streamapp_operator.observe.resource_views import AppKey, AppResource, Pod, app_resource, pod
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, Object
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore, key_of, read_entry, version_of

_Value = TypeVar("_Value")
_Document = TypeVar("_Document", bound=StoredDocument)
_Objects = Mapping[tuple[Kind, str], Object]
_Documents = Mapping[str | None, Object]
AskCounts = Callable[[AppResource], StreamCounts]
"""Tells what is known of an app's streams, and sees to it that more will be."""

_REMEMBERED = 50_000


class Observer:
    """Observes apps. Used by many threads, of which each has another app."""

    def __init__(
        self,
        api: KubernetesApi,
        cache: ObjectCache,
        ask_counts: AskCounts,
        ask_announced: AskAnnounced,
        new_run_id: Callable[[], str],
    ) -> None:
        self._api = api
        self._cache = cache
        self._ask_counts = ask_counts
        self._ask_announced = ask_announced
        self._new_run_id = new_run_id
        self._parsed = _Parsed()

    def observe(self, key: AppKey, now: datetime, memory: Memory) -> Observed | None:
        """Give the state of an app; None if there is no such app (any more).

        Raises:
            KubernetesError: shards of its job model can't be fetched.
        """
        objects = self._cache.objects(key)
        item = objects.get((Kind.APP, key.name))
        if item is None:
            return None
        objects = _of_this_one(objects, item["metadata"]["uid"])
        documents = {key_of(item): item for (kind, _), item in objects.items() if kind is Kind.CONFIG_MAP}
        app = self._parsed.of(item, lambda: app_resource(item))
        unreadable: list[str] = []
        record = self._document(documents, RECORD, AppRecord, unreadable)
        model = self._model(documents.get(POINTER), app, unreadable)
        missing = None if app.deleting else self._loss(app, documents, record, model, unreadable)
        locality_lost: list[str] = []
        return Observed(
            app=app,
            now=now,
            fresh_run_id=self._new_run_id() if record is None else record.accepted.run_id,
            counts=StreamCounts() if app.deleting else self._ask_counts(app),
            record=record,
            record_version=version_of(documents[RECORD]) if RECORD in documents else ABSENT,
            model=model,
            lost=None if missing is None else missing.why,
            restorable=None if missing is None else missing.restorable,
            locality=self._document(documents, LOCALITY, LocalityReport, locality_lost),
            locality_lost=locality_lost[0] if locality_lost else None,
            progress=self._document(documents, PROGRESS, ProgressReport, []),
            pods=tuple(
                self._pod(item) for (kind, _), item in sorted(objects.items(), key=_by_name) if kind is Kind.POD
            ),
            present=frozenset(objects),
            bound=_bound(objects.get((Kind.ROLE_BINDING, driver_account(key.name)))),
            memory=memory,
        )

    def _loss(
        self,
        app: AppResource,
        documents: _Documents,
        record: AppRecord | None,
        model: StoredJobModel | None,
        unreadable: Sequence[str],
    ) -> Loss | None:
        pointer = documents.get(POINTER)
        found = Found(
            record=record,
            model=model,
            pointer=None if pointer is None else read_entry(pointer),
            trouble=unreadable[0] if unreadable else None,
        )
        return loss(app, found, self._ask_announced)

    def _document(self, documents: _Documents, name: str, form: type[_Document], lost: list[str]) -> _Document | None:
        item = documents.get(name)
        if item is None:
            return None
        try:
            return self._parsed.of(item, lambda: form.from_entry(name, read_entry(item)))
        except DocumentUnreadableError as error:
            lost.append(str(error))
            return None

    def _model(self, pointer: Object | None, app: AppResource, lost: list[str]) -> StoredJobModel | None:
        if pointer is None:
            return None
        store = ConfigMapMetadataStore(self._api, app.key.namespace, app.key.name, owners=())
        try:
            return self._parsed.of(pointer, lambda: read_job_model(store))
        except JobModelUnreadableError as error:
            lost.append(str(error))
            return None

    def _pod(self, item: Object) -> Pod:
        return self._parsed.of(item, lambda: pod(item))


class _Parsed:
    """Values of the newest versions of objects."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: OrderedDict[str, tuple[str, object]] = OrderedDict()

    def of(self, item: Object, parse: Callable[[], _Value]) -> _Value:
        metadata = item["metadata"]
        uid, version = metadata["uid"], metadata["resourceVersion"]
        with self._lock:
            known = self._values.get(uid)
        if known is not None and known[0] == version:
            return known[1]  # type: ignore[return-value]
        value = parse()
        with self._lock:
            self._values[uid] = (version, value)
            self._values.move_to_end(uid)
            while len(self._values) > _REMEMBERED:
                self._values.popitem(last=False)
        return value


def _of_this_one(objects: _Objects, uid: str) -> _Objects:
    """Leave out what an earlier app of this name has left, which is about to go."""
    ours = {uid} | {item["metadata"]["uid"] for item in objects.values() if uid in _owners(item)}
    return {at: item for at, item in objects.items() if not (owners := _owners(item)) or owners & ours}


def _owners(item: Object) -> frozenset[str]:
    return frozenset(reference["uid"] for reference in item["metadata"].get("ownerReferences", ()))


def _bound(binding: Object | None) -> Bound | None:
    if binding is None or not binding.get("subjects"):
        return None
    role = binding["roleRef"]
    return Bound(account=binding["subjects"][0]["name"], role=DriverRole(kind=role["kind"], name=role["name"]))


def _by_name(entry: tuple[tuple[Kind, str], Object]) -> str:
    return entry[0][1]
