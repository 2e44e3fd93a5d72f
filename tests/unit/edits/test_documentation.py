import re
from pathlib import Path

from streamapp_core.edits.edit_classes import FIELDS, EditClass

EDITS = Path(__file__).parents[3] / "docs" / "edits.md"
ROW = re.compile(r"^\| `([^`]+)` \| (.+?) \|$", re.MULTILINE)


def test_the_documented_classes_are_those_of_the_code():
    rows = dict(ROW.findall(EDITS.read_text(encoding="utf-8")))
    assert {row: text for row, text in rows.items() if row in set(EditClass)} == {
        edit_class: edit_class.effect for edit_class in EditClass
    }


def test_every_field_is_documented_with_its_class():
    rows = dict(ROW.findall(EDITS.read_text(encoding="utf-8")))
    written = {row: re.findall("`([^`]+)`", text)[0] for row, text in rows.items() if row not in set(EditClass)}
    assert written == {".".join(field): edit_class for field, edit_class in FIELDS.items()}
