"""The observer: from cached objects to the observed state of one app. Documents are parsed once per version."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

from streamapp_core.deployment.app_documents import DocumentUnreadableError, StoredDocument
from streamapp_core.deployment.app_record import RECORD, AppRecord
from streamapp_core.deployment.driver_reports import LOCALITY, PROGRESS, LocalityReport, ProgressReport
from streamapp_core.deployment.kubernetes_names import DIGEST_ANNOTATION, document_name, driver_account, network_policy
from streamapp_core.job_model.job_model_errors import JobModelUnreadableError
from streamapp_core.job_model.job_model_shards import POINTER
from streamapp_core.job_model.stored_job_model import StoredJobModel, read_job_model
from streamapp_core.metadata_store import ABSENT, Versioned
from streamapp_operator.observe.app_defaults import complete_app
from streamapp_operator.observe.document_recovery import (
    DocumentRecovery,
    ReadBackup,
    RunDocuments,
    recover_documents,
)
from streamapp_operator.observe.namespace_selection import NamespaceSelection
from streamapp_operator.observe.object_cache import ObjectCache
from streamapp_operator.observe.observed_state import AppMemory, DriverBinding, DriverRole, Observed, StreamCounts
from streamapp_operator.observe.pod_events import PodEvents
from streamapp_operator.observe.resource_views import AppKey, AppResource, Pod, parse_app_resource, parse_pod
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, Object
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore, key_of, read_entry, version_of

_Value = TypeVar("_Value")
_Document = TypeVar("_Document", bound=StoredDocument)
_Objects = Mapping[tuple[Kind, str], Object]
_Documents = Mapping[str, Object]
ReadCounts = Callable[[AppResource], StreamCounts]
"""Returns the known partition counts of an app's streams, and keeps them up to date from now on."""


class Observer:
    """Observes apps. May be used by many threads, of which each has another app."""

    def __init__(
        self,
        api: KubernetesApi,
        cache: ObjectCache,
        read_counts: ReadCounts,
        read_backup: ReadBackup,
        new_run_id: Callable[[], str],
        *,
        defaults: Mapping[str, Any] = MappingProxyType({}),
        namespaces: NamespaceSelection,
    ) -> None:
        self._namespaces = namespaces
        self._defaults = defaults
        self._api = api
        self._cache = cache
        self._read_counts = read_counts
        self._read_backup = read_backup
        self._new_run_id = new_run_id
        self._parsed = _ParseCache()
        self._events = PodEvents(api)

    def observe(self, key: AppKey, now: datetime, memory: AppMemory) -> Observed | None:
        """Return the state of an app; None if there is no such app in the selected namespaces (any more).

        Raises:
            KubernetesError: shards of its job model can't be fetched.
        """
        objects = self._cache.list_objects(key)
        self._parsed.keep(key, objects.values())
        item = objects.get((Kind.APP, key.name))
        if item is None or not self._namespaces.includes(key.namespace):
            return None
        app = self._parsed.get(key, item, lambda: parse_app_resource(item))
        objects = _keep_owned(objects, app.uid)
        stored = _find_documents(app, objects)
        documents = self._read_run_documents(stored, app)
        app = complete_app(app, documents.record, self._defaults)
        recovery = DocumentRecovery()
        if (documents.record is None or documents.model is None) and not app.deleting:
            recovery = recover_documents(app, documents, self._read_backup)
        locality, locality_unreadable = self._read_document(key, stored, LOCALITY, LocalityReport)
        progress, _ = self._read_document(key, stored, PROGRESS, ProgressReport)
        return Observed(
            app=app,
            now=now,
            new_run_id=self._new_run_id(),
            counts=StreamCounts() if app.deleting else self._read_counts(app),
            record=documents.record,
            record_version=version_of(stored[RECORD]) if RECORD in stored else ABSENT,
            model=documents.model,
            unrecoverable=recovery.unrecoverable,
            recovered_model=recovery.recovered_model,
            locality=locality,
            locality_unreadable=locality_unreadable,
            progress=progress,
            pods=tuple(
                self._read_pod(key, item, now)
                for (kind, _), item in sorted(objects.items(), key=_by_name)
                if kind is Kind.POD
            ),
            present=frozenset(objects),
            driver_binding=_read_driver_binding(objects.get((Kind.ROLE_BINDING, driver_account(key.name)))),
            network_policy=_read_digest(objects.get((Kind.NETWORK_POLICY, network_policy(key.name)))),
            memory=memory,
        )

    def read_documents(self, app: AppResource) -> RunDocuments:
        """Return the documents of an app's run as the cache has them; nothing is asked of brokers.

        Raises:
            KubernetesError: shards of its job model can't be fetched.
        """
        return self._read_run_documents(
            _find_documents(app, _keep_owned(self._cache.list_objects(app.key), app.uid)), app
        )

    def _read_run_documents(self, stored: _Documents, app: AppResource) -> RunDocuments:
        record, record_unreadable = self._read_document(app.key, stored, RECORD, AppRecord)
        pointer = stored.get(POINTER)
        if pointer is not None and (foreign := _describe_foreign(pointer)) is not None:
            return RunDocuments(record=record, model=None, pointer=None, unreadable=None, foreign=foreign)
        model, model_unreadable = self._read_model(pointer, app)
        return RunDocuments(
            record=record,
            model=model,
            pointer=None if pointer is None else _read_pointer(pointer),
            unreadable=record_unreadable or model_unreadable,
            foreign=None,
        )

    def _read_document(
        self, key: AppKey, stored: _Documents, name: str, form: type[_Document]
    ) -> tuple[_Document | None, str | None]:
        """Return a document, or why it can't be read; neither if it does not exist."""
        item = stored.get(name)
        if item is None:
            return None, None
        if (foreign := _describe_foreign(item)) is not None:
            return None, foreign
        try:
            return self._parsed.get(key, item, lambda: form.from_entry(name, read_entry(item))), None
        except DocumentUnreadableError as error:
            return None, str(error)

    def _read_model(self, pointer: Object | None, app: AppResource) -> tuple[StoredJobModel | None, str | None]:
        if pointer is None:
            return None, None
        store = ConfigMapMetadataStore(self._api, app.key.namespace, app.key.name, owners=())
        try:
            return self._parsed.get(app.key, pointer, lambda: read_job_model(store)), None
        except (DocumentUnreadableError, JobModelUnreadableError) as error:
            return None, str(error)

    def _read_pod(self, key: AppKey, item: Object, now: datetime) -> Pod:
        pod = self._parsed.get(key, item, lambda: parse_pod(item))
        problem = self._events.find_problem(pod, item, now)
        return pod if problem is None else replace(pod, problem=problem)


class _ParseCache:
    """The parsed values of the newest versions of each app's objects, as long as these exist."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[AppKey, dict[str, tuple[str, object]]] = {}

    def get(self, key: AppKey, item: Object, parse: Callable[[], _Value]) -> _Value:
        metadata = item["metadata"]
        uid, version = metadata["uid"], metadata["resourceVersion"]
        with self._lock:
            known = self._values.get(key, {}).get(uid)
        if known is not None and known[0] == version:
            return known[1]  # type: ignore[return-value]
        value = parse()
        with self._lock:
            self._values.setdefault(key, {})[uid] = (version, value)
        return value

    def keep(self, key: AppKey, objects: Iterable[Object]) -> None:
        """Forget what was parsed of an app's objects that are gone."""
        uids = {item["metadata"]["uid"] for item in objects}
        with self._lock:
            kept = {uid: value for uid, value in self._values.pop(key, {}).items() if uid in uids}
            if kept:
                self._values[key] = kept


def _keep_owned(objects: _Objects, uid: str) -> _Objects:
    """Leave out the objects of an earlier app of this name, which are about to be deleted."""
    ours = {uid} | {item["metadata"]["uid"] for item in objects.values() if uid in _owners(item)}
    return {at: item for at, item in objects.items() if not (owners := _owners(item)) or owners & ours}


def _find_documents(app: AppResource, objects: _Objects) -> _Documents:
    """Return the ConfigMaps of an app's documents by the documents' names."""
    found = {key_of(item): item for (kind, _), item in objects.items() if kind is Kind.CONFIG_MAP}
    return {
        key: item
        for key, item in found.items()
        if key is not None and item["metadata"]["name"] == document_name(app.key.name, key)
    }


def _describe_foreign(config_map: Object) -> str | None:
    """Return why a document is not read that none of the app's writers has written: theirs have owners; else None."""
    if _owners(config_map):
        return None
    return (
        f"ConfigMap {config_map['metadata']['name']} has name and label of one of the app's documents, but no owner: "
        "somebody else wrote it, and it is not read. Delete it"
    )


def _read_pointer(config_map: Object) -> Versioned:
    """Return the pointer of the job model; an empty one, damaged as any other, if it can't be unpacked."""
    try:
        return read_entry(config_map)
    except DocumentUnreadableError:
        return Versioned(value=b"", version=version_of(config_map))


def _owners(item: Object) -> frozenset[str]:
    return frozenset(reference["uid"] for reference in item["metadata"].get("ownerReferences", ()))


def _read_driver_binding(binding: Object | None) -> DriverBinding | None:
    if binding is None or not binding.get("subjects"):
        return None
    role = binding["roleRef"]
    return DriverBinding(account=binding["subjects"][0]["name"], role=DriverRole(kind=role["kind"], name=role["name"]))


def _read_digest(item: Object | None) -> str | None:
    return None if item is None else item["metadata"].get("annotations", {}).get(DIGEST_ANNOTATION)


def _by_name(entry: tuple[tuple[Kind, str], Object]) -> str:
    return entry[0][1]
