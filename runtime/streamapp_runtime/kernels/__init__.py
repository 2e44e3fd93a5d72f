"""Kernels: the functions over Arrow arrays that the SQL of expressions calls, by their names."""

from collections.abc import Callable, Mapping

import pyarrow as pa

from streamapp_core.expressions import kernels
from streamapp_core.expressions.kernels import Kernel
from streamapp_runtime.kernels.array_kernels import common_places, first_places, missing_places, overlap
from streamapp_runtime.kernels.byte_kernels import crc32, decoded, encoded, repaired_utf8, sha2
from streamapp_runtime.kernels.cipher_kernels import aes_decrypted, aes_encrypted
from streamapp_runtime.kernels.csv_kernels import from_csv, to_csv
from streamapp_runtime.kernels.csv_schemas import csv_values, schema_of_csv
from streamapp_runtime.kernels.decimal_kernels import decimal_result
from streamapp_runtime.kernels.frequent_items import frequent_items
from streamapp_runtime.kernels.hash_kernels import murmur3, xxhash64
from streamapp_runtime.kernels.hll_sketches import hll_estimate, hll_of_both
from streamapp_runtime.kernels.json_path_kernels import (
    get_json_object,
    json_array_length,
    json_fields,
    json_object_keys,
)
from streamapp_runtime.kernels.json_readers import from_json
from streamapp_runtime.kernels.json_schemas import schema_of_json
from streamapp_runtime.kernels.kll_kernels import kll_count, kll_of_both, kll_quantiles, kll_ranks, kll_text
from streamapp_runtime.kernels.number_kernels import (
    double_text,
    expm1,
    float_text,
    grouped_number,
    half_even,
    half_up,
    log1p,
    other_base,
)
from streamapp_runtime.kernels.number_patterns import char_to_number, number_to_char
from streamapp_runtime.kernels.sort_kernels import sorted_places
from streamapp_runtime.kernels.text_kernels import edit_distance, formatted
from streamapp_runtime.kernels.theta_sketches import theta_estimate, theta_of_both
from streamapp_runtime.kernels.tuple_sketches import tuple_estimate, tuple_share, tuple_total, tuples_of_both
from streamapp_runtime.kernels.url_kernels import url_part
from streamapp_runtime.kernels.variant_kernels import (
    made_variant,
    parsed_variant,
    read_variant,
    schema_of_variant,
    variant_json,
    variant_members,
    variant_part,
)
from streamapp_runtime.kernels.vector_kernels import cosine_similarity, inner_product, l2_distance, norm, normalized
from streamapp_runtime.kernels.wkb_kernels import wkb
from streamapp_runtime.kernels.xml_escapes import xml_escaped
from streamapp_runtime.kernels.xml_kernels import xpath_condition, xpath_nodes, xpath_number, xpath_text
from streamapp_runtime.kernels.xml_readers import from_xml, xml_values
from streamapp_runtime.kernels.xml_schemas import schema_of_xml
from streamapp_runtime.kernels.zone_kernels import zone_name

KERNEL_FUNCTIONS: Mapping[Kernel, Callable[..., pa.Array]] = {
    kernels.MURMUR3: murmur3,
    kernels.XXHASH64: xxhash64,
    kernels.CRC32: crc32,
    kernels.THETA_ESTIMATE: theta_estimate,
    kernels.THETA_OF_BOTH: theta_of_both,
    kernels.HLL_ESTIMATE: hll_estimate,
    kernels.HLL_OF_BOTH: hll_of_both,
    kernels.FREQUENT_ITEMS: frequent_items,
    kernels.TUPLE_ESTIMATE: tuple_estimate,
    kernels.TUPLE_SHARE: tuple_share,
    kernels.TUPLE_TOTAL: tuple_total,
    kernels.TUPLES_OF_BOTH: tuples_of_both,
    kernels.KLL_COUNT: kll_count,
    kernels.KLL_TEXT: kll_text,
    kernels.KLL_QUANTILES: kll_quantiles,
    kernels.KLL_RANKS: kll_ranks,
    kernels.KLL_OF_BOTH: kll_of_both,
    kernels.SHA2: sha2,
    kernels.AES_ENCRYPTED: aes_encrypted,
    kernels.AES_DECRYPTED: aes_decrypted,
    kernels.REPAIRED_UTF8: repaired_utf8,
    kernels.ENCODED: encoded,
    kernels.DECODED: decoded,
    kernels.EDIT_DISTANCE: edit_distance,
    kernels.NUMBER_TO_CHAR: number_to_char,
    kernels.CHAR_TO_NUMBER: char_to_number,
    kernels.GROUPED_NUMBER: grouped_number,
    kernels.FORMATTED: formatted,
    kernels.OTHER_BASE: other_base,
    kernels.DECIMAL_RESULT: decimal_result,
    kernels.DOUBLE_TEXT: double_text,
    kernels.FLOAT_TEXT: float_text,
    kernels.HALF_EVEN: half_even,
    kernels.ZONE_NAME: zone_name,
    kernels.HALF_UP: half_up,
    kernels.EXPM1: expm1,
    kernels.LOG1P: log1p,
    kernels.URL_PART: url_part,
    kernels.FIRST_PLACES: first_places,
    kernels.COMMON_PLACES: common_places,
    kernels.MISSING_PLACES: missing_places,
    kernels.OVERLAP: overlap,
    kernels.GET_JSON_OBJECT: get_json_object,
    kernels.JSON_ARRAY_LENGTH: json_array_length,
    kernels.JSON_OBJECT_KEYS: json_object_keys,
    kernels.JSON_FIELDS: json_fields,
    kernels.SORTED_PLACES: sorted_places,
    kernels.INNER_PRODUCT: inner_product,
    kernels.L2_DISTANCE: l2_distance,
    kernels.COSINE_SIMILARITY: cosine_similarity,
    kernels.NORM: norm,
    kernels.NORMALIZED: normalized,
    kernels.FROM_JSON: from_json,
    kernels.SCHEMA_OF_JSON: schema_of_json,
    kernels.FROM_CSV: from_csv,
    kernels.CSV_VALUES: csv_values,
    kernels.SCHEMA_OF_CSV: schema_of_csv,
    kernels.TO_CSV: to_csv,
    kernels.PARSED_VARIANT: parsed_variant,
    kernels.MADE_VARIANT: made_variant,
    kernels.VARIANT_PART: variant_part,
    kernels.VARIANT_JSON: variant_json,
    kernels.SCHEMA_OF_VARIANT: schema_of_variant,
    kernels.READ_VARIANT: read_variant,
    kernels.VARIANT_MEMBERS: variant_members,
    kernels.WKB: wkb,
    kernels.XML_ESCAPED: xml_escaped,
    kernels.XML_VALUES: xml_values,
    kernels.FROM_XML: from_xml,
    kernels.SCHEMA_OF_XML: schema_of_xml,
    kernels.XPATH_NODES: xpath_nodes,
    kernels.XPATH_TEXT: xpath_text,
    kernels.XPATH_NUMBER: xpath_number,
    kernels.XPATH_CONDITION: xpath_condition,
}

__all__ = ["KERNEL_FUNCTIONS"]
