"""The native library is loaded where it fits, and elsewhere it is said why not."""

import os
import subprocess
import sys

import pytest

from streamapp_systems.native.compilation import CompilationError, compile_library
from streamapp_systems.native.library import SWITCH, load_library, native_library
from support.compilers import compiler


def told_in_a_process(setting):
    code = "from streamapp_systems.native.library import native_library; print(native_library().why_absent)"
    environment = {**os.environ, SWITCH: setting}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def compiled(tmp_path):
    made = tmp_path / "made.so"
    compile_library(compiler(), made)
    return made


def test_a_checkout_has_it():
    compiler()
    assert native_library().functions is not None or os.environ.get(SWITCH) == "off"


def test_it_can_be_switched_off():
    assert told_in_a_process("off") == "STREAMAPP_NATIVE is off"


def test_another_one_can_be_named(compiled):
    assert told_in_a_process(str(compiled)) == "None"


def test_the_same_sources_give_the_same_bytes(compiled, tmp_path):
    compile_library(compiler(), tmp_path / "again.so")
    assert (tmp_path / "again.so").read_bytes() == compiled.read_bytes()


def test_one_of_other_sources_is_not_taken(compiled, tmp_path):
    changed = tmp_path / "changed.so"
    compile_library(compiler(), changed, ["-USTREAMAPP_SOURCES", '-DSTREAMAPP_SOURCES="others"'])
    assert load_library(compiled).functions is not None
    assert "was compiled from other sources than those beside it: run make" in load_library(changed).why_absent


def test_what_is_no_library_or_another_one_is_not_taken(tmp_path):
    (tmp_path / "text.so").write_text("text")
    assert "text.so can't be loaded: " in load_library(tmp_path / "text.so").why_absent
    assert "there is no " in load_library(tmp_path / "none.so").why_absent


def test_the_compiler_s_own_words_say_why_sources_are_refused(tmp_path):
    with pytest.raises(CompilationError, match="nonsense"):
        compile_library(compiler(), tmp_path / "refused.so", ["-nonsense"])
