"""The page about Avro: its apps are accepted, with the columns that it shows."""

import yaml

from support.plan_documents import accepted
from unit.docs import pages

PAGE = pages.read("avro.md")


def test_the_examples_are_accepted_with_the_columns_that_the_page_shows():
    registered, keyed, bare, columns = (block.text for block in pages.fences(PAGE))
    assert accepted(yaml.safe_load(registered), pages.counts(registered)).streams["large"].schema is not None
    assert accepted(yaml.safe_load(keyed), pages.counts(keyed)).streams["sizes"].schema is not None
    assert str(accepted(yaml.safe_load(bare), {}).streams["orders"].schema) == columns.strip()
