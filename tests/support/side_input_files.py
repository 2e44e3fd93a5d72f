"""An app whose table is filled from CSV files that change between its starts."""

from pathlib import Path

from support import visits

FILES = {"file": {"path": "."}}


def app(*, table=None, broadcast=True, files=2, processors=1, visits_spec=None, **job):
    """Give the app of `support.visits`, whose customers come from a folder of files."""
    document = visits.app(table=table, visits={"bounded": False, **(visits_spec or {})}, processors=processors, **job)
    spec = document["spec"]
    spec["systems"]["files"] = FILES
    form = {"system": "files", "name": "customers", "format": "csv", "schema": "customer string, city string"}
    spec["streams"]["customers"] = form | ({"broadcast": True} if broadcast else {"key": "customer"})
    spec["defaultSystem"] = visits.HUB
    if not broadcast:
        for name in ("visits", "out"):
            spec["streams"][name]["partitions"] = files
    return document


class Hub(visits.Hub):
    """The streams of the app that lie in its log."""

    def __init__(self, folder: Path, document: dict):
        streams = {name: spec for name, spec in document["spec"]["streams"].items() if spec["system"] == visits.HUB}
        spec = {**document["spec"], "streams": streams}
        super().__init__(folder, {**document, "spec": spec})

    def cities(self, n):
        """Read which city each customer of a visit came from."""
        return {(customer, city) for customer, visit, city in self.visits() if visit == n}


def write(folder: Path, *files: dict[str, str], first: int = 0) -> None:
    """Write the customers' cities: each file is replaced as a whole."""
    (folder / "customers").mkdir(exist_ok=True)
    for number, cities in enumerate(files, first):
        lines = "".join(f"{customer},{city}\n" for customer, city in cities.items())
        path = folder / "customers" / f"{number}.csv"
        staged = path.with_suffix(".new")
        staged.write_text(f"customer,city\n{lines}")
        staged.rename(path)
