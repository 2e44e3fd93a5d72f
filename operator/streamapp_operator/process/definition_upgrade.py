"""Brings the definition of StreamApp up to date, as the chart's hook does before an upgrade.

`python -m streamapp_operator.process.definition_upgrade` applies the definition that this release generates,
server-side: what others have added to it, labels for instance, stays. It takes the right to get and patch this one
definition.
"""

import sys

from streamapp_core.crd import custom_resource_definition
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesError
from streamapp_systems.kubernetes.kubernetes_client import KubernetesClient

FIELD_MANAGER = "streamapp"


def main() -> int:
    """Apply the definition, and say so, or why not."""
    definition = custom_resource_definition()
    name = definition["metadata"]["name"]
    try:
        api = KubernetesClient(connections=1)
        try:
            applied = api.apply(Kind.DEFINITION, None, name, definition, manager=FIELD_MANAGER)
        finally:
            api.close()
    except KubernetesError as error:
        sys.stderr.write(f"the definition {name} can't be brought up to date: {error}\n")
        return 1
    sys.stdout.write(f"the definition {name} is up to date: generation {applied['metadata']['generation']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
