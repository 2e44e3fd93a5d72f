"""What the page on Spark lists is what is passed on, and its examples are accepted."""

import re

import yaml

from streamapp_core.deployment.spark_on_kubernetes import find_local_settings
from streamapp_core.plan import plan
from streamapp_core.spec.parse import parse_document, parse_text
from streamapp_core.spec.spark_properties import PROPERTIES, STORES
from unit.docs import pages

PAGE = pages.read("spark.md")
BLOCKS = [block.text for block in pages.fences(PAGE) if block.language == "yaml"]
ROW = re.compile(r"^\| `(spark\.[\w.*]+)` \| ([^|]+) \|$", re.MULTILINE)


def test_the_table_has_all_properties_with_their_values():
    listed = {name: kind.text for name, kind in PROPERTIES.items()}
    listed |= {f"{beginning}*": "a text of one line" for beginning in STORES}
    assert dict(ROW.findall(PAGE)) == listed


def test_the_example_is_accepted():
    assert plan(parse_text(BLOCKS[0]), {"orders": 1}).problems == ()


def test_the_event_log_of_the_example_is_right_on_kubernetes():
    document = yaml.safe_load(BLOCKS[0])
    document["spec"] |= yaml.safe_load(BLOCKS[1])
    app = parse_document(document).app
    assert list(find_local_settings(app.spec)) == []
