"""Kernels of vectors against sums of floats, one after the other."""

import math

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.kernels.vector_kernels import cosine_similarity, inner_product, l2_distance, norm, normalized

FLOATS = st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0, 1e-40, 3e38])
VECTORS = st.none() | st.lists(FLOATS, max_size=20) | st.lists(st.none() | FLOATS, max_size=10)
PAIRS = st.lists(st.tuples(VECTORS, VECTORS) | VECTORS.map(lambda vector: (vector, vector)), max_size=5)
KIND = pa.list_(pa.float32())


def added(values):
    """Add up floats as Spark does: eight at a time."""
    total = np.float32(0)
    whole = len(values) // 8 * 8
    for start in range(0, whole, 8):
        eight = values[start]
        for value in values[start + 1 : start + 8]:
            eight = np.float32(eight + value)
        total = np.float32(total + eight)
    for value in values[whole:]:
        total = np.float32(total + value)
    return total


def root(value):
    return np.float32(math.sqrt(value)) if value >= 0 or math.isnan(value) else np.float32(math.nan)


def floats(vector):
    return None if vector is None or None in vector else [np.float32(value) for value in vector]


def bits(values):
    """Return floats as their bytes; all NaN are alike."""
    return [None if x is None else "NaN" if np.isnan(x) else np.float32(x).tobytes() for x in values]


@given(PAIRS, st.integers(0, 2))
def test_products_and_distances_are_added_up_in_sparks_order(pairs, skipped):
    def columns(side):
        return pa.array([pair[side] for pair in pairs], KIND).slice(skipped)

    left, right = columns(0), columns(1)
    products, distances, cosines = [], [], []
    with np.errstate(all="ignore"):
        for one, other in pairs[skipped:]:
            a, b = floats(one), floats(other)
            if a is None or b is None or len(a) != len(b):
                products.append(None)
                distances.append(None)
                cosines.append(None)
                continue
            dots = [added([x * y for x, y in zip(*sides, strict=True)]) for sides in ((a, b), (a, a), (b, b))]
            products.append(dots[0])
            distances.append(root(added([(x - y) * (x - y) for x, y in zip(a, b, strict=True)])))
            lengths = root(dots[1] * dots[2])
            cosines.append(None if not a or lengths < np.finfo(np.float32).tiny else dots[0] / lengths)
    assert bits(inner_product(left, right).to_pylist()) == bits(products)
    assert bits(l2_distance(left, right).to_pylist()) == bits(distances)
    assert bits(cosine_similarity(left, right).to_pylist()) == bits(cosines)


@given(st.lists(st.tuples(VECTORS, st.none() | st.sampled_from([1.0, 2.0, math.inf, 3.0, math.nan])), max_size=5))
def test_norms_are_of_three_degrees(rows):
    norms, vectors = [], []
    with np.errstate(all="ignore"):
        for vector, degree in rows:
            values = floats(vector)
            if values is None or degree not in (1.0, 2.0, math.inf):
                norms.append(None)
                vectors.append(None)
                continue
            sizes = [np.abs(value) for value in values]
            choices = {1.0: added(sizes), 2.0: root(added([x * x for x in values])), math.inf: np.max([0, *sizes])}
            length = np.float32(choices[degree])
            norms.append(length)
            short = values and length < np.finfo(np.float32).tiny
            vectors.append(None if short else [np.float32(value / length) for value in values])
    columns = pa.array([vector for vector, _ in rows], KIND), pa.array([degree for _, degree in rows], pa.float32())
    assert bits(norm(*columns).to_pylist()) == bits(norms)
    found = normalized(*columns).to_pylist()
    assert [vector and bits(vector) for vector in found] == [vector and bits(vector) for vector in vectors]
