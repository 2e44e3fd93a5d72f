"""Random types, nested ones too."""

from hypothesis import strategies as st

from streamapp_core.data_types import UNSTORED, unordered
from streamapp_core.schema import Column, DataType, TypeKind, array_of, map_of, struct_of

FIELD_NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20)
_NESTED = (TypeKind.ARRAY, TypeKind.MAP, TypeKind.STRUCT)
FLAT_TYPES = st.one_of(
    st.sampled_from([DataType(kind) for kind in TypeKind if kind not in (TypeKind.DECIMAL, *UNSTORED, *_NESTED)]),
    st.integers(1, 38).flatmap(
        lambda precision: st.integers(0, precision).map(lambda scale: DataType(TypeKind.DECIMAL, precision, scale))
    ),
)


def data_types(names: st.SearchStrategy[str] = FIELD_NAMES, leaves: int = 8) -> st.SearchStrategy[DataType]:
    """Return a strategy of types that columns may have, with up to about so many types inside."""
    return st.recursive(FLAT_TYPES, lambda inner: _around(inner, names), max_leaves=leaves)


def _around(inner: st.SearchStrategy[DataType], names: st.SearchStrategy[str]) -> st.SearchStrategy[DataType]:
    fields = st.lists(
        st.builds(Column, names, inner), min_size=1, max_size=4, unique_by=lambda column: column.name.lower()
    )
    keys = inner.filter(lambda data_type: not unordered(data_type))
    return st.one_of(inner.map(array_of), st.builds(map_of, keys, inner), fields.map(struct_of))
