"""The schema for editors: what the planner accepts is right in it, and wrong fields are wrong at their places."""

import json
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from typer.testing import CliRunner

from streamapp_cli.main import app as command
from streamapp_core.spec.json_schema import app_json_schema
from support.edited_apps import RIGHT, edited_apps
from support.plan_documents import planned

SCHEMA = app_json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
EXAMPLES = Path(__file__).parents[3] / "examples"


def documents():
    for path in sorted(EXAMPLES.glob("**/*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if isinstance(document, dict) and document.get("kind") == "StreamApp":
                yield pytest.param(document, id=str(path.relative_to(EXAMPLES)))


def test_it_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("document", list(documents()))
def test_the_examples_are_right(document):
    assert best_match(VALIDATOR.iter_errors(document)) is None


@given(edited_apps())
def test_what_is_wrong_in_it_the_planner_refuses(edited):
    vector, app = edited
    wrong = best_match(VALIDATOR.iter_errors(app))
    if wrong:
        counts = {name: stream["partitions"] for name, stream in vector["streams"].items()}
        assert planned(app, counts).plan is None, wrong.message


@given(st.data())
def test_an_unknown_field_is_wrong_at_its_place(data):
    app = deepcopy(data.draw(st.sampled_from(RIGHT))["app"])
    operator = data.draw(st.integers(0, len(app["spec"]["operators"]) - 1))
    app["spec"]["operators"][operator]["surprise"] = 1
    (error,) = VALIDATOR.iter_errors(app)
    assert list(error.absolute_path) == ["spec", "operators", operator]
    assert "surprise" in error.message


def test_every_field_is_described():
    assert [f"{model}.{name}" for model, name, field in fields() if not described(field)] == []


def fields():
    for model, schema in [("", SCHEMA), *SCHEMA["$defs"].items()]:
        for name, field in schema.get("properties", {}).items():
            yield model, name, field


def described(field):
    """Whether an editor has a text for a field: its own, or that of a value it may have."""
    if "$ref" in field:
        return described(SCHEMA["$defs"][field["$ref"].rpartition("/")[2]])
    return bool(field.get("description")) or any(map(described, field.get("anyOf", ())))


def test_the_command_prints_it():
    result = CliRunner().invoke(command, ["schema"])
    assert result.exit_code == 0
    assert json.loads(result.output) == SCHEMA
