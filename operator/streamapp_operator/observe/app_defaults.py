"""The administrator's defaults below the spec of an app.

An app keeps the defaults that its accepted spec was completed with until it is edited: others must not restart apps
that nobody has touched.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from streamapp_core.deployment.app_record import AppRecord, digest
from streamapp_core.deployment.spec_defaults import merge_defaults
from streamapp_operator.observe.resource_views import AppResource, write_text


def apply_defaults(app: AppResource, defaults: Mapping[str, Any]) -> AppResource:
    """Return an app whose text has defaults for what its spec leaves open."""
    if not defaults:
        return app
    merged, taken = merge_defaults(defaults, app.spec)
    return replace(app, text=write_text(app.key, app.uid, merged), defaults=defaults, taken_defaults=taken)


def complete_app(app: AppResource, record: AppRecord | None, defaults: Mapping[str, Any]) -> AppResource:
    """Return an app with defaults: those that it has been accepted with, if it is the same app still, else new ones."""
    for version in () if record is None else (record.accepted, record.failed_upgrade):
        if version is not None and (version.defaults or defaults):
            known = apply_defaults(app, version.defaults or {})
            if digest(known.text) == version.app:
                return known
    return apply_defaults(app, defaults)
