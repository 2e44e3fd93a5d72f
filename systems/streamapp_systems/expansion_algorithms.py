"""Expansion algorithms that packages install as entry points (docs/expansion.md)."""

from importlib.metadata import EntryPoint, entry_points

from streamapp_core.tasks import DEFAULT_ALGORITHM, CheckedAlgorithm, ExpansionAlgorithm, built_in_algorithm

ENTRY_POINT_GROUP = "streamapp.expansion"


def installed_algorithm(name: str) -> CheckedAlgorithm:
    """Return the expansion algorithm of a name: a built-in one, or an entry point of the group `streamapp.expansion`.

    Raises:
        LookupError: no algorithm has that name; the text lists those there are.
        TypeError: the entry point is not an expansion algorithm.
    """
    if name == DEFAULT_ALGORITHM:
        return built_in_algorithm(name)
    installed = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    if name not in installed:
        names = ", ".join(sorted({DEFAULT_ALGORITHM, *installed}))
        raise LookupError(
            f"no expansion algorithm {name!r} is installed (there are: {names}); install the package that has it "
            f"as an entry point of the group {ENTRY_POINT_GROUP!r}"
        )
    return _load(installed[name])


def _load(point: EntryPoint) -> CheckedAlgorithm:
    loaded = point.load()
    algorithm = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(algorithm, ExpansionAlgorithm):
        raise TypeError(
            f"the entry point {point.name} = {point.value} is not an expansion algorithm: it needs the methods "
            "accepts(current_count, initial_count) and "
            "get_partition_before_expansion(current_partition, current_count, initial_count)"
        )
    return CheckedAlgorithm(point.name, algorithm)
