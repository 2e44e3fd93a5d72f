import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from streamapp_core.crd import custom_resource_definition
from streamapp_core.crd.status_model import Condition, ConditionStatus, PlanSummary, ProcessorsStatus, StreamAppStatus
from support.custom_resources import SCHEMA, VERSION, schema_errors

ROOT = Path(__file__).parents[3]
FILE = ROOT / "charts" / "streamapp" / "crds" / "streamapps.streamapp.dev.yaml"


def schema_at(path):
    here = SCHEMA
    for name in path.removeprefix(".").split("."):
        here = here["properties"][name]
    return here


def check(folder):
    command = [sys.executable, str(folder / "tools" / "crds.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_file_in_the_repository_is_what_the_models_say():
    assert yaml.safe_load(FILE.read_text()) == custom_resource_definition()


def test_it_means_the_same_to_kubernetes_tools_which_read_yes_and_no_in_short():
    """They read YAML 1.1 to the letter: `n` is false there, which PyYAML does not know."""
    unquoted = re.findall(r"^\s*(?:- )?([yYnN])(?::.*)?$|: ([yYnN])$", FILE.read_text(), re.MULTILINE)
    assert unquoted == []


def test_a_file_that_is_out_of_date_is_shown_with_the_way_out(tmp_path):
    stale = tmp_path / FILE.relative_to(ROOT)
    for path in (tmp_path / "tools" / "crds.py", stale):
        path.parent.mkdir(parents=True)
        shutil.copy(ROOT / path.relative_to(tmp_path), path)
    assert check(tmp_path).returncode == 0

    stale.write_text(stale.read_text().replace("maximum: 10000", "maximum: 9999"))
    result = check(tmp_path)
    assert result.returncode == 1
    assert "out of date; run `make crds`" in result.stderr
    assert "maximum: 9999" in result.stderr


def test_it_fits_the_annotation_of_a_client_side_apply():
    assert FILE.stat().st_size < 200_000


def test_the_names_are_those_of_the_contract():
    spec = custom_resource_definition()["spec"]
    assert (spec["group"], spec["scope"], VERSION["name"]) == ("streamapp.dev", "Namespaced", "v1alpha1")
    assert spec["names"] == {
        "kind": "StreamApp",
        "listKind": "StreamAppList",
        "plural": "streamapps",
        "singular": "streamapp",
        "shortNames": ["sapp"],
        "categories": ["all"],
    }


def test_scaling_reads_and_writes_numbers_of_processors():
    scale = VERSION["subresources"]["scale"]
    count = schema_at(scale["specReplicasPath"])
    assert (count["type"], count["minimum"], count["maximum"], count["default"]) == ("integer", 1, 1_000, 1)
    assert schema_at(scale["statusReplicasPath"])["type"] == "integer"
    assert schema_at(scale["labelSelectorPath"])["type"] == "string"


@pytest.mark.parametrize("column", [c for c in VERSION["additionalPrinterColumns"] if "[" not in c["jsonPath"]])
def test_a_printed_column_is_a_field_of_its_type(column):
    if column["jsonPath"].startswith(".metadata"):
        assert column["type"] == "date"
    else:
        assert schema_at(column["jsonPath"])["type"] == column["type"]


def test_the_status_that_is_written_fits_the_schema():
    condition = Condition(type="Ready", status=ConditionStatus.TRUE, last_transition_time="2026-01-01T00:00:00Z")
    status = StreamAppStatus(
        observed_generation=2,
        phase="Running",
        conditions=(condition,),
        plan=PlanSummary(mode="streaming", tasks=8, topologyHash="h"),
        processors=ProcessorsStatus(ready=2),
        selector="app=delays",
    )
    written = status.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert list(schema_errors(SCHEMA["properties"]["status"], written)) == []
    assert written["plan"]["topologyHash"] == "h"
