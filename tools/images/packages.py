"""The layers of third-party Python packages: what the Kubernetes operator needs, and above it what the runtime adds.

Both go to one virtual environment, /opt/streamapp. Which packages these are is read from this environment, which was
installed from `pyproject.toml` at the versions of `constraints.txt`: images hold what the tests have run with.
"""

import re
import shutil
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from tools.cluster.cached import kept, key_of
from tools.cluster.errors import ClusterError
from tools.cluster.process import attempt, run
from tools.images.archive import Layer
from tools.images.layers import read_layer, tree_state, write_layer

ROOT = Path(__file__).parents[2]
HOME = "opt/streamapp"
PYTHON = "python3.11"
SITE_PACKAGES = f"{HOME}/lib/{PYTHON}/site-packages"
UNUSED = ROOT / "images" / "unused-files.txt"

_CONFIGURATION = "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11\n"
_STEPS = "1"
"""Changes with the way these layers are made."""


def requirements(extra: str) -> list[str]:
    """Return what `pyproject.toml` requires with an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"][extra]]


def closure(wanted: Iterable[str]) -> dict[str, str]:
    """Return the versions of the packages that requirements need, directly or not, as they are installed here."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    open_ends = [(Requirement(text), extra) for text in wanted for extra in _extras(text)]
    while open_ends:
        requirement, extra = open_ends.pop()
        name = _normal(requirement.name)
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        distribution = metadata.distribution(requirement.name)
        found[name] = distribution.version
        for text in distribution.requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                open_ends += [(needed, below) for below in _extras(text)]
    return found


def _extras(requirement: str) -> list[str]:
    return ["", *Requirement(requirement).extras]


def packages_key() -> str:
    """Return the key of both layers."""
    sets = (_pins(closure(requirements(extra))) for extra in ("operator", "runtime"))
    return key_of(*("\n".join(pins) for pins in sets), UNUSED, _STEPS)


def package_layers(cache: Path) -> tuple[Layer, Layer]:
    """Return the layers (operator's packages, what the runtime adds), making them if they are not in the cache.

    Raises:
        ClusterError: this Python is not the images' one, or a package can't be had.
    """
    what = "installing the images' Python packages, Spark among them"
    folder = kept(cache, f"image-packages-{packages_key()}", _build, what=what)
    return read_layer(folder / "operator"), read_layer(folder / "runtime")


def _build(work: Path) -> None:
    if sys.version_info[:2] != (3, 11):
        raise ClusterError("self-made images hold Debian's Python 3.11, whose packages only Python 3.11 can fetch")
    operator, runtime = closure(requirements("operator")), closure(requirements("runtime"))
    _layer(work / "operator", operator, environment=True)
    _layer(work / "runtime", {name: version for name, version in runtime.items() if name not in operator})


def _layer(into: Path, packages: Mapping[str, str], *, environment: bool = False) -> None:
    tree = into / "tree"
    site_packages = tree / SITE_PACKAGES
    site_packages.mkdir(parents=True)
    if environment:
        _make_environment(tree / HOME)
    _install(packages, site_packages)
    shutil.rmtree(site_packages / "bin", ignore_errors=True)  # scripts, which name this machine's interpreter
    for pattern in UNUSED.read_text().splitlines():
        for path in site_packages.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    compile_modules(tree)
    write_layer(into, tree, sorted(tree_state(tree)), owned_by_root=True)
    shutil.rmtree(tree)


def _make_environment(home: Path) -> None:
    """Make a virtual environment of the image's own Python."""
    (home / "pyvenv.cfg").write_text(_CONFIGURATION)
    (home / "bin").mkdir()
    (home / "bin" / PYTHON).symlink_to(f"/usr/bin/{PYTHON}")
    for name in ("python", "python3"):
        (home / "bin" / name).symlink_to(PYTHON)


def _install(packages: Mapping[str, str], into: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-compile", "--no-warn-conflicts", "--root-user-action=ignore", "--target", str(into)]
    run([*command, *_pins(packages)])


def compile_modules(tree: Path) -> None:
    """Compile all modules so that they stay valid whatever time their files get, and nobody must write at run time."""
    command = [sys.executable, "-m", "compileall", "-q", "-f", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    command += ["-s", str(tree), "-p", "/", str(tree)]
    attempt(command)  # some packages hold templates of modules, which are none yet


def _pins(packages: Mapping[str, str]) -> list[str]:
    return [f"{name}=={version}" for name, version in sorted(packages.items())]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
