"""An app that begins with what comes after its first start, whatever happens then."""

from streamapp_runtime.hosts.process_host import ProcessHost
from support.growth import Growing

KEYS = range(32)


def play(source: Growing) -> None:
    """Stop a run before it has committed anything, let its input grow, and go on twice: then check what came out."""
    document = source.document()
    document["spec"]["streams"]["in"]["startFrom"] = "latest"
    source.write(*KEYS, count=4)
    source.producer("source", 4).close()  # what its id has committed is visible then
    source.run(document, lambda summary: True, make_host=in_processes)
    source.write(*KEYS, count=4)
    source.expand(8)
    source.write(*KEYS, count=8)
    source.run(document, lambda summary: source.copied(summary, 2 * len(KEYS)))
    source.write(*KEYS, count=8)
    source.run(document, lambda summary: source.copied(summary, 3 * len(KEYS)))
    assert source.numbers() == {key: [1, 2, 3] for key in KEYS}
    assert {row["k"]: row["c"] for row in source.rows("counts")} == dict.fromkeys(KEYS, 3)


def in_processes(channel, name, log_folder):
    """Make a host whose processors end at once when it is closed, wherever they are."""
    return ProcessHost(channel, log_folder)
