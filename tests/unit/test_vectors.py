"""The conformance vectors: what the public functions of core must answer."""

from importlib import import_module

import pytest

from conformance import files


@pytest.mark.parametrize(
    "kind, vector",
    [pytest.param(kind, vector, id=f"{kind}-{vector['name']}") for kind, vector in files.vectors()],
)
def test_vector(kind, vector):
    import_module(f"conformance.{kind}").run(vector)


def test_a_file_of_an_unknown_kind_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "guesses.json").write_text("[]")
    monkeypatch.setenv("STREAMAPP_VECTORS", str(tmp_path))

    with pytest.raises(ValueError, match=r"guesses\.json"):
        files.vectors()
