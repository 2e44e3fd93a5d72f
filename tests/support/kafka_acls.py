"""The rights of a user of a broker that checks ACLs: granted as docs/kafka.md says, but for what a test leaves out."""

import re
from dataclasses import dataclass

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from support.repository import ROOT
from support.waiting import eventually

_ROW = re.compile(r"^\| (topic|transactional id|group) \| (literal|prefixed) \| (.+?) \| (.+?) \|$", re.MULTILINE)
_TYPES = {
    "topic": ResourceType.TOPIC,
    "transactional id": ResourceType.TRANSACTIONAL_ID,
    "group": ResourceType.GROUP,
}
_OPERATIONS = {
    "Read": AclOperation.READ,
    "Write": AclOperation.WRITE,
    "Create": AclOperation.CREATE,
    "Delete": AclOperation.DELETE,
    "Alter": AclOperation.ALTER,
    "Describe": AclOperation.DESCRIBE,
    "DescribeConfigs": AclOperation.DESCRIBE_CONFIGS,
}


@dataclass(frozen=True)
class Right:
    """A right on a resource; `name` as in the table: `every output`."""

    resource: str
    pattern: str
    name: str
    operation: str


def documented_rights():
    """Read the table of docs/kafka.md."""
    text = (ROOT / "docs" / "kafka.md").read_text().partition("\n## Rights\n")[2].partition("\n## ")[0]
    return [
        Right(resource, pattern, name.strip("`"), operation)
        for resource, pattern, name, operations in _ROW.findall(text)
        for operation in operations.split(", ")
    ]


class Acls:
    """The ACLs of one user."""

    def __init__(self, bootstrap_servers: str, user: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        self._principal = f"User:{user}"

    def grant(self, rights, prefix, *, inputs, outputs):
        """Grant rights of an app with this prefix and these topics, and nothing else; wait until it is so."""
        everything = AclBindingFilter(
            ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
        )
        self._admin.delete_acls([everything])[everything].result()
        topics = {"every input and side input": inputs, "every output": outputs}
        wanted = {
            AclBinding(
                _TYPES[right.resource],
                name,
                ResourcePatternType[right.pattern.upper()],
                self._principal,
                "*",
                _OPERATIONS[right.operation],
                AclPermissionType.ALLOW,
            )
            for right in rights
            for name in topics.get(right.name, [right.name.replace("<prefix>", prefix)])
        }
        for made in self._admin.create_acls(list(wanted)).values():
            made.result()
        assert eventually(lambda: _places(self._admin.describe_acls(everything).result()) == _places(wanted))


def _places(bindings):
    return {(binding.restype, binding.name, binding.operation) for binding in bindings}
