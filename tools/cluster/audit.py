"""The API server's own account of what was asked of it."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

AUDIT_POLICY = json.dumps(
    {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted"],
        "rules": [{"level": "Metadata"}],
    }
)
"""Every request once, when it is answered, without its content."""

_WRITES = {"create", "update", "patch", "delete", "deletecollection"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that was answered with `code`. `resource` is as in `pods/status`; a dry run changes nothing."""

    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    time: datetime
    dry_run: bool

    @property
    def writes(self) -> bool:
        """Whether the request was one that changes something."""
        return self.verb in _WRITES and not self.dry_run


def read_requests(log: Path) -> list[Request]:
    """Return what the log holds; a last line that is being written is left out."""
    if not log.exists():
        return []
    complete, _, _ = log.read_text().rpartition("\n")
    return [_request(json.loads(line)) for line in complete.splitlines()]


def _request(event: dict[str, Any]) -> Request:
    target = event.get("objectRef", {})
    resource = target.get("resource", event["requestURI"])
    return Request(
        user=event["user"]["username"],
        verb=event["verb"],
        resource=f"{resource}/{target['subresource']}" if "subresource" in target else resource,
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=event["responseStatus"]["code"],
        time=datetime.fromisoformat(event["stageTimestamp"]),
        dry_run="dryRun=All" in event["requestURI"],
    )
