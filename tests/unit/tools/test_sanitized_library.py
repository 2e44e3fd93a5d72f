"""The tests of the native library with the compiler's checks: no wrong access, no operation that C leaves undefined."""

from support.compilers import run_sanitized


def test_the_sanitizers_find_nothing(tmp_path):
    done = run_sanitized(tmp_path, "tests/unit/native")
    assert done.returncode == 0, done.stdout + done.stderr


def test_they_find_a_wrong_access(tmp_path):
    wrong = tmp_path / "test_wrong.py"
    wrong.write_text("import ctypes\n\ndef test_it():\n    ctypes.memmove((ctypes.c_char * 8)(), 64 * b'x', 64)\n")
    done = run_sanitized(tmp_path, str(wrong))
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stdout + done.stderr
