"""Dry runs of StreamApps on a real API server: they are checked, not stored."""

import json
from dataclasses import dataclass

from kubernetes import client

_NOT_A_REASON = "some validation rules were not checked"
GROUP, VERSION, PLURAL = "streamapp.dev", "v1alpha1", "streamapps"


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason of a refusal: where, what kind, in words."""

    field: str
    reason: str
    message: str


class Planner:
    """Sends resources to the API server as kubectl does (strict about unknown fields), for a dry run."""

    def __init__(self, api_client, namespace):
        self._apps = client.CustomObjectsApi(api_client)
        self._namespace = namespace

    def stored(self, app):
        """Return the app as the API server would store it."""
        return self._apps.create_namespaced_custom_object(
            GROUP, VERSION, self._namespace, PLURAL, _resource(app), dry_run="All", field_validation="Strict"
        )

    def causes(self, app):
        """Return all reasons why the API server refuses the app; none if it accepts it."""
        try:
            self.stored(app)
        except client.ApiException as error:
            body = json.loads(error.body)
            found = body.get("details", {}).get("causes") or [body]
            causes = [Cause(cause.get("field", ""), cause["reason"], cause["message"]) for cause in found]
            return [cause for cause in causes if _NOT_A_REASON not in cause.message]
        return []


def _resource(app):
    metadata = {"name": "app", **app.get("metadata", {})}
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "StreamApp", **app, "metadata": metadata}
