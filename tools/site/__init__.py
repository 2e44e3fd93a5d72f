"""The site of the documentation: what mkdocs builds of the pages, and the references that are generated."""
