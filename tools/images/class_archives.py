"""The layer with archives of the classes that Spark's JVMs load at their start, made by a run of Spark in the image."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from tools.cluster.cached import kept, key_of
from tools.cluster.process import run
from tools.images.archive import Layer
from tools.images.debian import debian_key, in_tree
from tools.images.layers import added, read_layer, tree_state, write_layer
from tools.images.packages import HOME, ROOT, packages_key

ARCHIVES = f"{HOME}/class-archives"

_PROGRAM = ROOT / "images" / "runtime" / "class_archives.py"
_STEPS = "1"
"""Changes with the way this layer is made."""


def class_archives_key() -> str:
    """Return the key of the layer."""
    return key_of(debian_key(), packages_key(), _PROGRAM, _STEPS)


def class_archives_layer(cache: Path, below: Sequence[Layer]) -> Layer:
    """Return the layer above those with Java and Spark, making it if it is not in the cache.

    Raises:
        ClusterError: not root, or Spark does not start.
    """

    def build(work: Path) -> None:
        tree = work / "tree"
        tree.mkdir()
        for layer in below:
            run(["tar", "--extract", "--file", layer.tar, "--directory", tree])
        for folder in ("dev", "proc", "tmp"):
            (tree / folder).mkdir(exist_ok=True)
        (tree / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
        shutil.copy(_PROGRAM, tree / "tmp")
        before = tree_state(tree)
        in_tree(tree, [f"/{HOME}/bin/python", f"/tmp/{_PROGRAM.name}", f"/{ARCHIVES}"])  # noqa: S108 - of the tree
        made = [path for path in added(before, tree_state(tree)) if path.startswith(ARCHIVES)]
        write_layer(work, tree, made, owned_by_root=True)
        shutil.rmtree(tree)

    what = "archiving the classes of Spark's JVMs, about a minute"
    return read_layer(kept(cache, f"image-classes-{class_archives_key()}", build, what=what))
