"""Kubernetes' requests to judge a resource before it is stored: AdmissionReviews of admission.k8s.io/v1."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from streamapp_operator.observe.resource_views import AppResource, parse_app_resource


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True)

    uid: str
    namespace: str
    name: str = ""
    resource: dict[str, Any] = Field(alias="object")
    before: dict[str, Any] | None = Field(alias="oldObject", default=None)


class _Review(BaseModel):
    model_config = ConfigDict(frozen=True)

    api_version: Literal["admission.k8s.io/v1"] = Field(alias="apiVersion")
    request: _Request


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRequest:
    """A request: its id, the app as it would be stored, and its spec as it is stored (None: it is a new app)."""

    uid: str
    app: AppResource
    before: Mapping[str, Any] | None


def parse_admission_review(data: bytes) -> AdmissionRequest:
    """Parse a request to create or update a StreamApp.

    Raises:
        ValueError: it is none.
    """
    request = _Review.model_validate_json(data).request
    defaults = {"uid": "", "resourceVersion": "", "name": request.name}
    metadata = {**defaults, **request.resource.get("metadata", {}), "namespace": request.namespace}
    return AdmissionRequest(
        uid=request.uid,
        app=parse_app_resource({**request.resource, "metadata": metadata}),
        before=None if request.before is None else request.before.get("spec", {}),
    )
