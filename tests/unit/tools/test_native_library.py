"""The checkout's native library is compiled once for the same sources and compiler."""

from tools.native_library import provide_library

from streamapp_systems.native.library import load_library
from support.compilers import compiler


def test_what_the_cache_has_is_not_compiled_again(tmp_path):
    cache, here = tmp_path / "cache", tmp_path / "streamapp_native.so"
    provide_library(cache, compiler(), here)
    assert load_library(here).functions is not None
    (made,) = cache.glob("native-*/streamapp_native.so")
    made.write_bytes(b"kept")
    provide_library(cache, compiler(), here)
    assert here.read_bytes() == b"kept"
