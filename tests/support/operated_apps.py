"""Objects and documents of apps on a real API server."""

from streamapp_core.deployment.app_record import RECORD, AppRecord


def drivers(core, namespace):
    """Name the pods of drivers."""
    found = core.list_namespaced_pod(namespace, label_selector="streamapp.dev/role=driver")
    return sorted(pod.metadata.name for pod in found.items)


def launch(documents):
    """Return the newest launch of an app."""
    return AppRecord.read(documents, RECORD).launch


def leftovers(core, namespace, prefix):
    """Name the objects of apps whose names begin with a prefix."""
    listings = (
        core.list_namespaced_pod,
        core.list_namespaced_config_map,
        core.list_namespaced_service,
        core.list_namespaced_service_account,
    )
    found = [
        item.metadata for listing in listings for item in listing(namespace, label_selector="streamapp.dev/app").items
    ]
    return [metadata.name for metadata in found if metadata.labels["streamapp.dev/app"].startswith(prefix)]
