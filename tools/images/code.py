"""The thin layer: this checkout's own code, above the layers that cost time."""

import sys
import tempfile
import zipfile
from pathlib import Path

from tools.cluster.process import run
from tools.images.archive import Layer
from tools.images.layers import read_layer, tree_state, write_layer
from tools.images.packages import HOME, ROOT, SITE_PACKAGES, compile_modules

ENTRYPOINT = f"{HOME}/entrypoint"
_COMMAND = f"""#!/{HOME}/bin/python
from streamapp_cli.main import main

main()
"""


def code_layer(into: Path) -> Layer:
    """Write the layer of this checkout's code to a folder: the project's wheel, unpacked and compiled.

    Raises:
        ClusterError: the project can't be built.
    """
    with tempfile.TemporaryDirectory() as work:
        tree = Path(work, "tree")
        site_packages = tree / SITE_PACKAGES
        site_packages.mkdir(parents=True)
        with zipfile.ZipFile(_wheel(Path(work))) as wheel:
            wheel.extractall(site_packages)
        compile_modules(tree)
        _script(tree / HOME / "bin" / "streamapp", _COMMAND)
        _script(tree / ENTRYPOINT, (ROOT / "images" / "runtime" / "entrypoint").read_text())
        into.mkdir(parents=True, exist_ok=True)
        write_layer(into, tree, sorted(tree_state(tree)), owned_by_root=True)
    return read_layer(into)


def _wheel(into: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(into)]
    run(command, cwd=ROOT)
    (wheel,) = into.glob("*.whl")
    return wheel


def _script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
