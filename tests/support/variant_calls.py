"""Expressions of variants over the columns of `function_calls`, for comparisons with Spark."""

from support.function_calls import expressions

_SOURCES = "s num day moment i b f d small m m2 fine whole dt ts ntz t x tiny"
_TARGETS = (
    "string boolean tinyint smallint int bigint float double decimal(10,2) decimal(38,18) date timestamp "
    "timestamp_ntz binary"
)
VARIANT_CASTS = [
    f"try_variant_get(cast({source} as variant), '$', '{target}')"
    for source in _SOURCES.split()
    for target in _TARGETS.split()
]
VARIANT_CALLS = expressions(
    r"""
to_json(try_parse_json(js)); to_json(try_parse_json(sound)); to_json(try_parse_json(word)); to_json(try_parse_json(num))
to_json(parse_json(to_json(st))); to_json(parse_json(null)); is_variant_null(try_parse_json(js)); is_variant_null(null)
is_valid_variant(try_parse_json(js)); schema_of_variant(try_parse_json(js)); cast(try_parse_json(sound) as string)
schema_of_variant(try_parse_json(concat('[', sound, ',', js, ']'))); typeof(try_parse_json(js))
to_json(struct(try_parse_json(sound):a, try_parse_json(sound):`a b`[0]))
schema_of_variant(try_parse_json(sound):a); try_parse_json(sound):a[0]::string; try_parse_json(sound):`a b`::string
schema_of_variant(try_parse_json(js):a.b[1]['c']); try_parse_json(js):b.a is null; try_cast(try_parse_json(js) as int)
schema_of_variant(try_parse_json(concat('[{"a":', sound, '},', sound, ',{"A":1.5}]'))); try_parse_json(js) is null
schema_of_variant(try_parse_json(concat('[', fine, ',', m, ',', whole, ',', b, ']')))
schema_of_variant(cast(d as variant))
schema_of_variant(to_variant_object(array(struct(ts, dt, ntz, x, m, f, d, tiny, t, s, fine))))
schema_of_variant(cast(array(cast(m as variant), cast(f as variant)) as variant))
schema_of_variant(cast(array(cast(b as variant), cast(f as variant)) as variant))
schema_of_variant(cast(array(cast(dt as variant), cast(ntz as variant)) as variant))
schema_of_variant(cast(array(cast(ts as variant), cast(ntz as variant), cast(d as variant)) as variant))
try_variant_get(try_parse_json(sound), '$.a', 'string'); try_variant_get(try_parse_json(sound), '$.a', 'int')
try_variant_get(try_parse_json(sound), '$[0]', 'float'); try_variant_get(try_parse_json(sound), '$["a b"]', 'double')
try_variant_get(try_parse_json(sound), '$[0]', 'decimal(20,3)')
try_variant_get(try_parse_json(sound), '$.a', 'boolean')
try_variant_get(try_parse_json(sound), '$', 'map<string,string>')
try_variant_get(try_parse_json(js), '$', 'array<int>')
try_variant_get(try_parse_json(sound), '$', 'struct<a:int,b:string,c:array<double>>')
try_variant_get(try_parse_json(sound), '$', 'map<string,date>'); try_variant_get(try_parse_json(js), '$.a', 'timestamp')
try_variant_get(try_parse_json(sound), '$', 'array<timestamp>'); variant_get(try_parse_json(sound), '$.q.r[1]', 'int')
to_json(try_variant_get(try_parse_json(sound), "$['a']")); to_json(variant_get(cast(ars as variant), '$[1]'))
to_json(cast(ts as variant)); to_json(cast(ntz as variant)); to_json(cast(dt as variant)); to_json(cast(d as variant))
to_json(cast(f as variant)); to_json(cast(fine as variant)); to_json(cast(x as variant)); to_json(cast(b as variant))
to_json(to_variant_object(st)); to_json(to_variant_object(ast)); to_json(to_variant_object(mp))
to_json(cast(aa as variant))
to_json(to_variant_object(array(struct(ts, dt, ntz, x, m, f, d, tiny, t, s, fine, try_parse_json(js) as v))))
to_json(struct(try_parse_json(js) as v, i)); to_json(array(try_parse_json(js), null, cast(i as variant)))
to_json(coalesce(try_parse_json(js), cast(d as variant))); to_json(if(t, cast(s as variant), null))
cast(try_variant_get(try_parse_json(sound), '$', 'array<variant>')[0] as string); size(array(try_parse_json(js)))
transform(try_variant_get(try_parse_json(sound), '$', 'array<variant>'), v -> schema_of_variant(v))
"""
)
