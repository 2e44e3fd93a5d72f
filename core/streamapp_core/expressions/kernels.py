"""Kernels: functions over whole columns that DuckDB's SQL can't express exactly.

The SQL of expressions calls them by name. The runtime has a function over Arrow arrays for each (`runtime.kernels`),
which the SQL engine registers when a query names it. A kernel depends on its arguments only, and has no errors.
"""

from dataclasses import dataclass

from streamapp_core.data_types import VARIANT, Column, array_of, struct_of
from streamapp_core.schema import BIGINT, BINARY, BOOLEAN, DOUBLE, FLOAT, INT, STRING, DataType

KERNEL_PREFIX = "__kernel_"


@dataclass(frozen=True, slots=True)
class Kernel:
    """The signature of one kernel; with parameters None it takes any number of values of any types."""

    name: str
    parameters: tuple[DataType, ...] | None
    result: DataType

    @property
    def sql_name(self) -> str:
        """The name in SQL, which no user's name can equal."""
        return KERNEL_PREFIX + self.name

    def over(self, *arguments: str) -> str:
        """Write a call over the SQL of the arguments, which have exactly the types of the parameters."""
        return f"{self.sql_name}({', '.join(arguments)})"


MURMUR3 = Kernel("murmur3", None, INT)
"""Spark's `hash` of the values of a row."""
XXHASH64 = Kernel("xxhash64", None, BIGINT)
CRC32 = Kernel("crc32", (BINARY,), BIGINT)
ZONE_NAME = Kernel("zone_name", (STRING,), STRING)
"""The name that DuckDB has for a time zone in a text of a timestamp; null if there is none of this name."""
SHA2 = Kernel("sha2", (BINARY, INT), STRING)
"""The hash of 224, 384 or 512 bits, in hexadecimal digits."""
AES_ENCRYPTED = Kernel("aes_encrypted", (BINARY, BINARY, STRING, STRING, BINARY, BINARY), BINARY)
"""Bytes encrypted by a key, mode, padding and initialization vector, and with other bytes that are authenticated."""
AES_DECRYPTED = Kernel("aes_decrypted", (BINARY, BINARY, STRING, STRING, BINARY), BINARY)
REPAIRED_UTF8 = Kernel("repaired_utf8", (BINARY,), STRING)
"""The text of bytes, with U+FFFD in place of what is no UTF-8."""
ENCODED = Kernel("encoded", (STRING, STRING), BINARY)
"""The bytes of a text in a character set; null if it has other characters."""
DECODED = Kernel("decoded", (BINARY, STRING), STRING)
EDIT_DISTANCE = Kernel("edit_distance", (STRING, STRING), INT)
NUMBER_TO_CHAR = Kernel("number_to_char", (STRING, STRING), STRING)
"""A decimal number, as a plain text, written by a format of `to_char`."""
CHAR_TO_NUMBER = Kernel("char_to_number", (STRING, STRING), STRING)
"""A text read by a format of `to_number`, as a plain decimal number; null if it does not fit."""
GROUPED_NUMBER = Kernel("grouped_number", (STRING, DOUBLE, STRING), STRING)
"""A number as `format_number` writes it. It takes its shortest decimal text, the number itself if it is floating (else
null), and four numbers: size of groups, fewest whole digits, fewest and most digits behind the point."""
FORMATTED = Kernel("formatted", None, STRING)
"""The texts and numbers behind a format, written into it, as Java's Formatter does."""
OTHER_BASE = Kernel("other_base", (STRING, INT, INT), STRING)
DECIMAL_RESULT = Kernel("decimal_result", (STRING, STRING, STRING, INT, INT), STRING)
"""Two decimals combined by `+ - * / %` or `pmod`: a decimal of a precision and a scale; null if it is too long."""
DOUBLE_TEXT = Kernel("double_text", (DOUBLE,), STRING)
"""A double as Java writes it."""
FLOAT_TEXT = Kernel("float_text", (FLOAT,), STRING)
HALF_EVEN = Kernel("half_even", (DOUBLE, INT), DOUBLE)
HALF_UP = Kernel("half_up", (DOUBLE, INT), DOUBLE)
EXPM1 = Kernel("expm1", (DOUBLE,), DOUBLE)
LOG1P = Kernel("log1p", (DOUBLE,), DOUBLE)
URL_PART = Kernel("url_part", (STRING, STRING), STRING)
FIRST_PLACES = Kernel("first_places", None, array_of(BIGINT))
"""The places, from 1, where the elements of an array are there for the first time."""
COMMON_PLACES = Kernel("common_places", None, array_of(BIGINT))
"""Of these, the places of elements that another array has."""
MISSING_PLACES = Kernel("missing_places", None, array_of(BIGINT))
OVERLAP = Kernel("overlap", None, BOOLEAN)
"""Whether two arrays have an element, as `arrays_overlap` says it."""
GET_JSON_OBJECT = Kernel("get_json_object", (STRING, STRING), STRING)
JSON_ARRAY_LENGTH = Kernel("json_array_length", (STRING,), INT)
JSON_OBJECT_KEYS = Kernel("json_object_keys", (STRING,), array_of(STRING))
JSON_FIELDS = Kernel("json_fields", None, array_of(STRING))
"""The fields of the JSON object of a text that have the names behind it, as `json_tuple` writes them."""
SORTED_PLACES = Kernel("sorted_places", (array_of(array_of(INT)),), array_of(BIGINT))
"""The places, from 1, of elements in their order, by the comparisons of each with all; null if there is no order."""
VECTOR = array_of(FLOAT)
INNER_PRODUCT = Kernel("inner_product", (VECTOR, VECTOR), FLOAT)
L2_DISTANCE = Kernel("l2_distance", (VECTOR, VECTOR), FLOAT)
COSINE_SIMILARITY = Kernel("cosine_similarity", (VECTOR, VECTOR), FLOAT)
NORM = Kernel("norm", (VECTOR, FLOAT), FLOAT)
"""The norm of a vector, of degree 1, 2 or infinity; null of another degree."""
NORMALIZED = Kernel("normalized", (VECTOR, FLOAT), VECTOR)
FROM_JSON = Kernel("from_json", (STRING, STRING), STRING)
"""A JSON text, read by a type: JSON whose values are texts, which SQL casts."""
XML_VALUES = Kernel("xml_values", (STRING, STRING), array_of(STRING))
"""The texts and attributes in an XML text, in order."""
FROM_XML = Kernel("from_xml", (STRING, STRING, STRING, array_of(BOOLEAN), array_of(BOOLEAN)), STRING)
"""An XML text, read by a type with options and whether each of its values is a date, or a timestamp: as JSON."""
SCHEMA_OF_XML = Kernel("schema_of_xml", (STRING, STRING, array_of(BOOLEAN), array_of(BOOLEAN)), STRING)
XML_ESCAPED = Kernel("xml_escaped", (STRING,), STRING)
"""A text as it stands in XML, where SQL does not suffice: with `>`, or characters that are written as numbers."""
XPATH_NODES = Kernel("xpath_nodes", (STRING, STRING), array_of(STRING))
"""The values of the nodes of an XML text that a path selects."""
XPATH_TEXT = Kernel("xpath_text", (STRING, STRING), STRING)
XPATH_NUMBER = Kernel("xpath_number", (STRING, STRING), DOUBLE)
XPATH_CONDITION = Kernel("xpath_condition", (STRING, STRING), BOOLEAN)
SCHEMA_OF_JSON = Kernel("schema_of_json", (STRING, BOOLEAN), STRING)
"""The type of a JSON text, whose numbers may begin with zeros or not."""
FROM_CSV = Kernel("from_csv", (STRING, STRING, STRING), STRING)
"""A line of CSV with a separator, read by a type, in the same form."""
CSV_VALUES = Kernel("csv_values", (STRING, STRING), array_of(STRING))
SCHEMA_OF_CSV = Kernel("schema_of_csv", (array_of(STRING), array_of(BOOLEAN), array_of(BOOLEAN)), STRING)
"""The type of the values of a line, by whether each is a date, or a timestamp."""
TO_CSV = Kernel("to_csv", (array_of(STRING), STRING), STRING)
PARSED_VARIANT = Kernel("parsed_variant", (STRING,), VARIANT)
MADE_VARIANT = Kernel("made_variant", None, VARIANT)
"""A value as a variant: the text of its type, and the value."""
VARIANT_PART = Kernel("variant_part", (VARIANT, STRING), VARIANT)
VARIANT_JSON = Kernel("variant_json", (VARIANT, STRING), STRING)
"""A variant as JSON, with timestamps in a time zone."""
SCHEMA_OF_VARIANT = Kernel("schema_of_variant", (VARIANT,), STRING)
READ_VARIANT = Kernel("read_variant", (VARIANT, STRING, STRING), STRING)
"""What a variant holds, read by a type in a time zone: a text, or JSON whose values are texts, which SQL casts."""
VARIANT_MEMBERS = Kernel(
    "variant_members",
    (VARIANT,),
    array_of(struct_of([Column("pos", INT), Column("key", STRING), Column("value", VARIANT)])),
)
"""The elements of an array, or the fields of an object with their names; null of others."""
WKB = Kernel("wkb", (BINARY, BOOLEAN, BOOLEAN), BINARY)
"""A geometry in well-known binary, written again: it may have to lie on the globe, and have the greatest byte first."""
THETA_ESTIMATE = Kernel("theta_estimate", (BINARY,), BIGINT)
THETA_OF_BOTH = Kernel("theta_of_both", (STRING, BINARY, BINARY, INT), BINARY)
"""Two sketches made one: the operation, the sketches, and the logarithm of the number of hashes that a union keeps."""
HLL_ESTIMATE = Kernel("hll_estimate", (BINARY,), BIGINT)
HLL_OF_BOTH = Kernel("hll_of_both", (BINARY, BINARY, BOOLEAN), BINARY)
"""The union of two sketches, whose sizes may differ or not."""
FREQUENT_ITEMS = Kernel(
    "frequent_items",
    (STRING, BINARY, INT, INT),
    array_of(struct_of([Column("item", STRING), Column("count", BIGINT)])),
)
"""The most frequent items of a type, as texts, of a sketch that tracks so many: so many of them."""
TUPLE_ESTIMATE = Kernel("tuple_estimate", (STRING, BINARY), DOUBLE)
"""The number of keys of a tuple sketch; behind the type of its numbers, as in all of these."""
TUPLE_SHARE = Kernel("tuple_share", (STRING, BINARY), DOUBLE)
TUPLE_TOTAL = Kernel("tuple_total", (STRING, BINARY, STRING), STRING)
"""The numbers of a sketch put together: summed up, the least or the greatest, or their count."""
TUPLES_OF_BOTH = Kernel("tuples_of_both", (array_of(STRING), BINARY, BINARY), BINARY)
"""Two sketches made one, by an operation: its name, the type of numbers, `theta` if the right one is a theta sketch,
how numbers are put together, and the logarithm of the number of keys that a union keeps."""
KLL_COUNT = Kernel("kll_count", (STRING, BINARY), BIGINT)
"""The number of values of a sketch of quantiles; behind the type of the values, as in all of these."""
KLL_TEXT = Kernel("kll_text", (STRING, BINARY), STRING)
KLL_QUANTILES = Kernel("kll_quantiles", (STRING, BINARY, array_of(DOUBLE)), array_of(STRING))
KLL_RANKS = Kernel("kll_ranks", (STRING, BINARY, array_of(STRING)), array_of(DOUBLE))
KLL_OF_BOTH = Kernel("kll_of_both", (STRING, BINARY, BINARY), BINARY)

KERNELS = (
    MURMUR3, XXHASH64, CRC32, SHA2, AES_ENCRYPTED, AES_DECRYPTED,
    REPAIRED_UTF8, ENCODED, DECODED, EDIT_DISTANCE, NUMBER_TO_CHAR, CHAR_TO_NUMBER,
    GROUPED_NUMBER, FORMATTED, OTHER_BASE, DECIMAL_RESULT, DOUBLE_TEXT, FLOAT_TEXT, HALF_EVEN, HALF_UP, ZONE_NAME,
    EXPM1, LOG1P, URL_PART, FIRST_PLACES,
    COMMON_PLACES, MISSING_PLACES, OVERLAP, GET_JSON_OBJECT, JSON_ARRAY_LENGTH, JSON_OBJECT_KEYS, JSON_FIELDS,
    INNER_PRODUCT, L2_DISTANCE, COSINE_SIMILARITY, NORM, NORMALIZED,
    FROM_JSON, SCHEMA_OF_JSON, FROM_CSV, CSV_VALUES, SCHEMA_OF_CSV, TO_CSV,
    PARSED_VARIANT, MADE_VARIANT, VARIANT_PART, VARIANT_JSON, SCHEMA_OF_VARIANT, READ_VARIANT,
    VARIANT_MEMBERS,
    XML_ESCAPED, XML_VALUES, FROM_XML, SCHEMA_OF_XML, XPATH_NODES, XPATH_TEXT, XPATH_NUMBER, XPATH_CONDITION,
    SORTED_PLACES, WKB, THETA_ESTIMATE, THETA_OF_BOTH, HLL_ESTIMATE, HLL_OF_BOTH,
    TUPLE_ESTIMATE, TUPLE_SHARE, TUPLE_TOTAL, TUPLES_OF_BOTH, FREQUENT_ITEMS,
    KLL_COUNT, KLL_TEXT, KLL_QUANTILES, KLL_RANKS, KLL_OF_BOTH,
)  # fmt: skip
