"""The shape of the repository itself."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("core", "systems", "runtime", "operator", "cli", "api")


def test_the_operator_folder_does_not_shadow_the_standard_library():
    assert not (ROOT / "operator" / "__init__.py").exists()
    command = [sys.executable, "-c", "import operator; print(operator.__file__)"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert str(ROOT) not in found


def test_each_folder_holds_one_package():
    for folder in FOLDERS:
        packages = [path.name for path in (ROOT / folder).iterdir() if path.name != "__pycache__"]
        assert packages == [f"streamapp_{folder}"]


def test_a_module_is_found_by_its_name_alone():
    """Systems implement one protocol, so that their modules have its names."""
    parallel = {"__init__.py", "__main__.py", "admin.py", "consumer.py", "producer.py"}
    names = Counter(path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    assert not {name for name, count in names.items() if count > 1} - parallel


def test_modules_are_read_at_one_sitting():
    modules = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    long = {path.relative_to(ROOT): lines for path in modules if (lines := len(path.read_text().splitlines())) > 400}
    assert long.keys() == {Path("api/streamapp_api/call_types.py")}  # made from the models, by tools/call_types.py


def test_threads_find_the_decoders_of_structs_made():
    """msgspec works out a struct's types at the first decoding; a second thread that decodes meanwhile crashes."""
    modules = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    late = r"msgspec\.(json|msgpack)\.decode\([^)]*type=|msgspec\.convert\("
    assert not [path.relative_to(ROOT) for path in modules if re.search(late, path.read_text())]


def test_constraints_have_names_and_versions_only():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"#.*|[\w.-]+==[\w.]+", line) for line in lines)


def test_the_readme_names_only_make_targets_that_exist():
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z0-9-]+)`", (ROOT / "README.md").read_text()))
    assert {"run", "test"} <= named <= targets


def test_make_lists_every_target_that_says_what_it_is_for():
    told = re.findall(r"^(\S+):.* ## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert [re.sub(r"\x1b\[\d*m", "", line).split()[0] for line in listed.splitlines()] == told


def test_the_soak_names_tests_that_exist_and_settings_that_they_read():
    told = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "soak"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    named = [ROOT / path for path in re.findall(r"\btests/\S+", told)]
    assert named
    assert [path for path in named if not path.exists()] == []
    read = {name for path in named for file in python_files(path) for name in settings_of(file)}
    assert set(re.findall(r"(STREAMAPP_\w+)=", told)) - read == set()


def python_files(path):
    return [path] if path.is_file() else list(path.rglob("*.py"))


def settings_of(file):
    return re.findall(r"STREAMAPP_\w+", file.read_text())
