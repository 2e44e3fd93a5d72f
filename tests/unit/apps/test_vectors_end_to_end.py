"""The vectors of windows and joins hold for whole apps too: from logs to logs, with watermarks, restarts and ends."""

import pytest

from conformance import files
from conformance.end_to_end import Vectors, ends_alike

WINDOWS = [vector for kind, vector in files.vectors() if kind == "windows"]
KINDS = [("window", "aggregate"), ("join", "joinTable")]


def of_kinds(kinds):
    return [vector for vector in WINDOWS if set(kinds) & vector["operator"].keys()]


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_every_step_gives_what_the_vector_says(tmp_path, kinds):
    Vectors(tmp_path, of_kinds(kinds)).follow()


def test_streams_that_end_give_all_that_the_vectors_say(tmp_path):
    Vectors(tmp_path, [vector for vector in WINDOWS if ends_alike(vector)], bounded=True).to_the_end()
