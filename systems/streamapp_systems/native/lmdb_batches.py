"""Many entries of LMDB at once: by its own functions, in transactions that Python's package has opened.

The package does not give its handles away, so they are read from its objects: of one version, whose layout is known,
and only after what surrounds them has been compared. Anything else is done by the package's own calls.
"""

import ctypes
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import lmdb
import numpy as np
import pyarrow as pa

from streamapp_systems.native.binary_columns import BinaryColumn, binary_array, binary_column, offsets_of, pointer
from streamapp_systems.native.key_groups import Numbers
from streamapp_systems.native.library import native_library

_VERSIONS = ("3.0.0", (0, 9, 36))
"""The version of Python's package, and of the LMDB in it, whose objects have the layout below."""
_SIZES, _WORD = (248, 120, 72), 8
_DATABASE_TYPE = lmdb._Database  # noqa: SLF001 - it has no other name
_TYPE, _DATABASE_ENVIRONMENT, _DATABASE = 1, 7, 8
_ENVIRONMENT_HANDLE, _ENVIRONMENT_FUNCTIONS, _MAIN_DATABASE = 8, 9, 10
_TRANSACTION_ENVIRONMENT, _TRANSACTION_FUNCTIONS, _TRANSACTION, _DEFAULT_DATABASE = 8, 10, 11, 13
"""Places of 8 bytes in objects of an environment, a transaction and a database."""
_NAMES = ("cursor_open", "cursor_close", "cursor_get", "cursor_put", "cursor_del")


class _Functions(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name in _NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class LmdbFunctions:
    """The native library, and LMDB's functions that it calls."""

    library: ctypes.CDLL
    package: ctypes.CDLL
    functions: _Functions


@dataclass(frozen=True, slots=True, kw_only=True)
class LmdbHandle:
    """A database in an open transaction, as LMDB's functions take it; valid as long as the transaction is open."""

    lmdb: LmdbFunctions
    transaction: int
    database: int


@cache
def lmdb_functions() -> LmdbFunctions | None:
    """Return the functions for batches; None where there is no native library, or another LMDB."""
    library = native_library().functions
    if library is None or (lmdb.__version__, lmdb.version()) != _VERSIONS:
        return None
    types = (lmdb.Environment, lmdb.Transaction, _DATABASE_TYPE)
    if tuple(kind.__basicsize__ for kind in types) != _SIZES or ctypes.sizeof(ctypes.c_void_p) != _WORD:
        return None
    try:
        package = ctypes.CDLL(import_module("lmdb.cpython").__file__)
        found = [ctypes.cast(getattr(package, f"mdb09_{name}"), ctypes.c_void_p).value for name in _NAMES]
        package.mdb09_txn_env.restype = ctypes.c_void_p
        package.mdb09_txn_id.restype = ctypes.c_size_t
        package.mdb09_strerror.restype = ctypes.c_char_p
    except (ImportError, OSError, AttributeError):
        return None
    return LmdbFunctions(library=library, package=package, functions=_Functions(*found))


def lmdb_handle(transaction: object, database: object) -> LmdbHandle | None:
    """Return the handle of a database in an open transaction; None where that is not known for sure."""
    found = lmdb_functions()
    if found is None or not isinstance(transaction, lmdb.Transaction) or not isinstance(database, _DATABASE_TYPE):
        return None
    held, named = _words(transaction, _SIZES[1]), _words(database, _SIZES[2])
    environment = named[_DATABASE_ENVIRONMENT]
    if not environment or environment != held[_TRANSACTION_ENVIRONMENT]:
        return None
    around = (ctypes.c_uint64 * (_SIZES[0] // _WORD)).from_address(environment)
    if (
        around[_TYPE] != id(lmdb.Environment)
        or around[_ENVIRONMENT_FUNCTIONS] != held[_TRANSACTION_FUNCTIONS]
        or around[_MAIN_DATABASE] != held[_DEFAULT_DATABASE]
        or not held[_TRANSACTION]
    ):
        return None
    handle = ctypes.c_void_p(held[_TRANSACTION])
    if found.package.mdb09_txn_env(handle) != around[_ENVIRONMENT_HANDLE]:
        return None
    if found.package.mdb09_txn_id(handle) != transaction.id():
        return None
    return LmdbHandle(lmdb=found, transaction=held[_TRANSACTION], database=named[_DATABASE] & 0xFFFFFFFF)


def put_entries(handle: LmdbHandle, keys: pa.BinaryArray, values: pa.BinaryArray, order: Numbers | None = None) -> None:
    """Put entries in their order, or in another one: that of the keys is fastest. A null deletes its key.

    Of entries of one key that come behind each other only the last one counts.

    Raises:
        lmdb.Error: the disk is full, for instance. The transaction must be aborted.
    """
    held, others = binary_column(keys), binary_column(values)
    places = None if order is None else ctypes.c_void_p(pointer(order))
    error = handle.lmdb.library.streamapp_lmdb_put(*_arguments(handle, held), ctypes.byref(others), places)
    _raise_if_failed(handle, error)


def get_values(handle: LmdbHandle, keys: pa.BinaryArray) -> pa.BinaryArray | None:
    """Return the value of each key, null where there is none; None if they take 2 GB or more."""
    count, held = len(keys), binary_column(keys)
    found, lengths = np.empty(count, np.uint64), np.empty(count, np.int64)
    places, sizes = ctypes.c_void_p(pointer(found)), ctypes.c_void_p(pointer(lengths))
    library = handle.lmdb.library
    _raise_if_failed(handle, library.streamapp_lmdb_find(*_arguments(handle, held), places, sizes))
    offsets = offsets_of(np.maximum(lengths, 0))
    if offsets is None:
        return None
    data = np.empty(max(int(offsets[-1]), 1), np.uint8)
    library.streamapp_copy_found(places, sizes, ctypes.c_int64(count), ctypes.c_void_p(pointer(data)))
    return binary_array(offsets, data, lengths < 0)


def _arguments(handle: LmdbHandle, keys: BinaryColumn) -> tuple[object, ...]:
    functions = ctypes.byref(handle.lmdb.functions)
    return functions, ctypes.c_void_p(handle.transaction), ctypes.c_uint32(handle.database), ctypes.byref(keys)


def _raise_if_failed(handle: LmdbHandle, error: int) -> None:
    if error:
        raise lmdb.Error(handle.lmdb.package.mdb09_strerror(error).decode())


def _words(held: object, size: int) -> "ctypes.Array[ctypes.c_uint64]":
    return (ctypes.c_uint64 * (size // _WORD)).from_address(id(held))
