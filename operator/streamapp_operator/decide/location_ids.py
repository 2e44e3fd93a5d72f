"""Location ids from the metadata of executor pods: executors at one location can open each other's state."""

from collections.abc import Callable, Mapping

from streamapp_core.assignment import ANY_LOCATION
from streamapp_core.spec.processors import Location, LocationBy, ProcessorsSpec
from streamapp_operator.observe.resource_views import Pod

LocationIdProvider = Callable[[Pod, Location], str | None]
"""Returns the location id of an executor pod; None: it has none (yet)."""

PROVIDERS: Mapping[LocationBy, LocationIdProvider] = {
    LocationBy.NODE: lambda pod, _: pod.node,
    LocationBy.VOLUME: lambda pod, _: pod.claim,
    LocationBy.POD: lambda pod, _: pod.uid,
    LocationBy.CONTAINER: lambda pod, _: pod.container_id,
    LocationBy.LABEL: lambda pod, location: None if location.label is None else pod.labels.get(location.label),
}


def find_location(processors: ProcessorsSpec) -> Location:
    """Return how location ids are found: as the spec says, else by what holds the state."""
    if processors.location is not None:
        return processors.location
    if processors.state.host_path is not None:
        return Location(by=LocationBy.NODE)
    if processors.state.volume_claim is not None:
        return Location(by=LocationBy.VOLUME)
    return Location(by=LocationBy.POD)


def find_location_id(pod: Pod, location: Location) -> str:
    """Return the location id of an executor pod; `any` if it has none."""
    return PROVIDERS[location.by](pod, location) or ANY_LOCATION
