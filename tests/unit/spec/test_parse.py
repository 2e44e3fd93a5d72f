import json
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.spec.base import DNS_LABEL, MOMENT
from streamapp_core.spec.json_schema import app_json_schema
from streamapp_core.spec.parse import parse_document, parse_text
from streamapp_core.spec.validation_problems import PATTERN_WORDS
from streamapp_core.spec.yaml_document import DocumentError

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "plan.json").read_text())
GOOD = next(vector["app"] for vector in VECTORS if vector["name"] == "table-case-4")
JUNK = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just([]) | st.just({"x": 1})


def parsed(change):
    document = deepcopy(GOOD)
    change(document["spec"])
    return parse_document(document)


def found(result):
    return [(problem.path, problem.code) for problem in result.problems]


def paths(value, path=()):
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths(child, (*path, key))


def test_a_sound_document_has_no_problems():
    result = parse_document(GOOD)
    assert (result.problems, result.broken) == ((), frozenset())
    assert [operator.name for operator in result.app.spec.operators] == [o["name"] for o in GOOD["spec"]["operators"]]


def test_defaults_are_filled_in():
    app = parse_document(GOOD).app
    assert app.spec.job.commit_interval == 1_000
    assert app.spec.tables["t"].max_age == 86_400_000
    assert app.spec.processors.state.empty_dir is not None


def test_an_unknown_field_is_a_problem_with_a_suggestion():
    result = parsed(lambda spec: spec["operators"][0]["partitionBy"].update(kee="k"))
    assert found(result) == [("spec.operators[0].partitionBy.kee", "InvalidSpec")]
    assert "did you mean `key`?" in result.problems[0].message


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        ({"sorted": True}, "an object is expected, not true: write {}"),
        ({"window": {"tumbling": "1h", "emit": "10s"}}, "an object is expected, not 10s: write {every: 10s}"),
        ({"partitionBy": "a"}, "an object is expected, not a: write {key: a}"),
        ({"partitionBy": "true"}, "an object is expected, not true: write {key: 'true'}"),
        ({"partitionBy": 3}, "an object is expected, not 3: write {key: ...}"),
        ({"dedup": ["a", "b"]}, 'an object is expected, not ["a", "b"]: write {by: [a, b]}'),
        ({"dedup": ["a" * 100]}, "write {by: ...}"),
        ({"join": "b"}, "an object is expected, not b: write {with: ..., on: ...}"),
    ],
)
def test_what_is_no_object_comes_with_the_one_to_write(operator, message):
    document = deepcopy(GOOD)
    document["spec"]["operators"].append({"name": "x", "from": "in", **operator})
    (problem,) = parse_document(document).problems
    assert problem.message.endswith(message)


def test_an_object_whose_fields_may_all_be_left_out_comes_with_their_names():
    document = deepcopy(GOOD)
    document["spec"]["processors"] = 2
    (problem,) = parse_document(document).problems
    assert problem.message.startswith("an object is expected, not 2; its fields are count, cores")


def test_a_broken_operator_keeps_its_place_and_its_name():
    result = parsed(lambda spec: spec["operators"][1].update(filter="k = 1"))
    assert found(result) == [("spec.operators[1]", "InvalidSpec")]
    assert "exactly one kind" in result.problems[0].message
    assert result.broken == {GOOD["spec"]["operators"][1]["name"]}
    assert len(result.app.spec.operators) == len(GOOD["spec"]["operators"])


def test_a_broken_stream_is_cut_out_and_named():
    result = parsed(lambda spec: spec["streams"]["s1"].pop("system"))
    assert found(result) == [("spec.streams.s1.system", "InvalidSpec")]
    assert result.broken == {"s1"}
    assert "s1" not in result.app.spec.streams


def test_a_system_with_a_broken_field_is_cut_out_whole_as_the_rest_would_be_another_one():
    lake = {"delta": {"path": "s3://bucket", "store": {"endpoint": "minio:9000", "region": "eu-1"}}}
    result = parsed(lambda spec: spec["systems"].update(lake=lake))
    assert found(result) == [("spec.systems.lake.delta.store.endpoint", "InvalidSpec")]
    assert "lake" not in result.app.spec.systems
    assert result.broken == {"lake"}


def test_a_part_with_a_missing_and_a_misspelled_field_is_cut_once():
    result = parsed(lambda spec: spec["streams"].update(s1={"sistem": "kafka"}))
    assert found(result) == [("spec.streams.s1.sistem", "InvalidSpec"), ("spec.streams.s1.system", "InvalidSpec")]
    assert result.broken == {"s1"}


def test_the_deepest_branch_of_a_choice_is_what_was_meant():
    result = parsed(lambda spec: spec["operators"][4]["join"].update(on={"left": "k"}))
    assert found(result) == [("spec.operators[4].join.on.right", "InvalidSpec")]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"left": ["k", "v"], "right": ["k"]}, "`left` has 2 columns and `right` 1: each column"),
        ([], "name at least one column"),
        ({"left": [], "right": "k"}, "name at least one column"),
        (["k", "K"], "`k` is in the key twice"),
        (5, "a text is expected, and YAML reads this as a number, 5: put it in quotes"),
        (True, "a text is expected, and YAML reads this as a boolean, true: put it in quotes"),
        ("", "it is empty: write a text"),
    ],
)
def test_of_the_branches_of_a_choice_the_one_of_the_right_type_tells_what_is_wrong(written, message):
    result = parsed(lambda spec: spec["operators"][4]["join"].update(on=written))
    (problem,) = result.problems
    assert problem.message.startswith(message)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"k": "string", "v": "int"}, "k string, v int"),
        ([{"name": "k", "type": "string"}, {"name": "v", "type": "int"}], "k string, v int"),
    ],
)
def test_columns_that_are_written_as_objects_are_told_as_the_text_they_should_be(columns, text):
    (problem,) = parsed(lambda spec: spec["streams"]["s1"].update(schema=columns)).problems
    assert (problem.path, problem.message) == ("spec.streams.s1.schema", f'a text is expected: write "{text}"')


def test_a_field_that_belongs_into_another_one_is_told_where():
    (problem,) = parsed(lambda spec: spec["streams"]["s1"].update(idleTimeout="5s")).problems
    assert problem.message == "`idleTimeout` is no field here: it is one of `eventTime`"


def test_one_name_where_a_list_is_needed_is_told_as_the_list_it_should_be():
    window = {"tumbling": "1h", "by": "k", "select": "count(*) as n"}
    operators = [{"name": "w", "from": "s1", "window": window}]
    result = parsed(lambda spec: spec.update(operators=operators))
    (problem,) = [problem for problem in result.problems if problem.path == "spec.operators[0].window.by"]
    assert problem.message == "a list is expected, not k: write [k]"


def test_places_in_an_envelope_are_told_in_words():
    changes = {"changes": "debezium", "debezium": {"columns": {"t": "before.n"}}}
    (problem,) = parsed(lambda spec: spec["streams"]["s1"].update(changes)).problems
    assert problem.path == "spec.streams.s1.debezium.columns.t"
    assert problem.message == (
        "`before.n` is no place in an envelope beside the row: there are op, ts_ms, ts_us, ts_ns, and the fields of "
        "the source, such as source.lsn"
    )


def test_bounds_name_what_was_written():
    result = parsed(lambda spec: spec.update(job={"commitInterval": "5ms"}, processors={"count": 0}))
    assert found(result) == [("spec.job.commitInterval", "InvalidSpec"), ("spec.processors.count", "InvalidSpec")]
    assert "5ms is not between 10ms and 5m" in result.problems[0].message
    assert "not 0" in result.problems[1].message


def test_snapshots_are_kept_as_long_as_readers_may_be_behind():
    lake = {"iceberg": {"catalog": {"uri": "sqlite:///catalog.db"}, "path": "lake", "keepSnapshots": "10m"}}
    result = parsed(lambda spec: spec["systems"].update(lake=lake))
    assert found(result) == [("spec.systems.lake.iceberg.keepSnapshots", "InvalidSpec")]
    assert "10m is not between 1h and 3650d" in result.problems[0].message


def test_what_is_a_service_s_is_refused_of_a_catalog_in_a_database():
    def catalog(**given):
        lake = {"iceberg": {"catalog": given, "path": "lake"}}
        return [p.message for p in parsed(lambda spec: spec["systems"].update(lake=lake)).problems]

    assert catalog(uri="https://catalog:8181", warehouse="w", oauth2ServerUri="https://login/token", scope="all") == []
    (refused,) = catalog(uri="sqlite:///catalog.db", warehouse="w", scope="all")
    assert "warehouse, scope: databases have none" in refused
    (refused,) = catalog(uri="https://catalog:8181", name="lake")
    assert "a service has no name" in refused


def test_texts_of_a_form_are_told_in_words():
    (problem,) = parsed(lambda spec: spec.update(processors={"memory": "2 GB"})).problems
    assert problem.message == "an amount such as `512Mi` or `2Gi` is expected, not 2 GB"
    written = {node["pattern"] for node in nodes(app_json_schema()) if isinstance(node.get("pattern"), str)}
    checked_with_words = {pattern for pattern in written if "(ms|" in pattern or pattern in (DNS_LABEL, MOMENT)}
    assert set(PATTERN_WORDS) == written - checked_with_words


def nodes(value):
    """Yield all objects in a JSON value."""
    if isinstance(value, dict):
        yield value
    for held in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(held)


def test_a_kind_of_system_that_is_none_is_told():
    result = parsed(lambda spec: spec["systems"].update(x={"kafka": {"bootstrapServers": "b"}, "file": {"path": "p"}}))
    assert found(result) == [("spec.systems.x", "InvalidSpec")]


def test_names_must_be_dns_labels_and_differ():
    result = parsed(lambda spec: [operator.update(name="Twice") for operator in spec["operators"][:2]])
    codes = [("spec.operators[0].name", "InvalidName"), ("spec.operators[1].name", "DuplicateName")]
    assert found(result) == [*codes, ("spec.operators[1].name", "InvalidName")]
    assert "for example `twice`" in result.problems[0].message


def test_a_huge_name_is_a_short_problem():
    result = parsed(lambda spec: spec["operators"][0].update(name="x" * 1_000_000))
    assert [problem.path for problem in result.problems] == ["spec.operators[0].name"]
    assert len(result.problems[0].message) < 200


@pytest.mark.parametrize("document", [None, [], "text", {}, {"kind": "Pod"}, {"kind": ["StreamApp"]}])
def test_what_is_no_streamapp_is_refused_whole(document):
    with pytest.raises(DocumentError, match="no StreamApp"):
        parse_document(document)


def test_a_streamapp_without_spec_has_problems_but_no_app():
    result = parse_text("apiVersion: streamapp.dev/v1alpha1\nkind: StreamApp\nmetadata: {name: a}\n")
    assert found(result) == [("spec", "InvalidSpec")]
    assert result.app is None


def test_keys_given_twice_come_with_the_other_problems():
    result = parse_text(json.dumps(GOOD).replace('"job":', '"job":').replace('"count": 1', '"count": 0, "count": 0'))
    assert found(result) == [("spec.processors.count", "InvalidSpec")] * 2


@given(st.data())
def test_junk_anywhere_is_survived_and_told_under_a_path_that_was_written(data):
    document = deepcopy(GOOD)
    everything = [path for path in paths(document) if path and path[0] != "kind"]
    for path in data.draw(st.lists(st.sampled_from(everything), min_size=1, max_size=4)):
        holder = document
        for part in path[:-1]:
            holder = holder[part] if isinstance(holder, dict | list) and _has(holder, part) else None
        if isinstance(holder, dict | list) and _has(holder, path[-1]):
            holder[path[-1]] = data.draw(JUNK)
    result = parse_document(document)
    assert result.app is not None or result.problems
    assert len({str(problem) for problem in result.problems}) == len(result.problems)
    assert all(problem.path.split(".")[0].split("[")[0] in {*document, ""} for problem in result.problems)


def _has(holder, part):
    return part in holder if isinstance(holder, dict) else isinstance(part, int) and part < len(holder)


@pytest.mark.parametrize("wrap", [lambda value: {"a": value}, lambda value: [value]])
@pytest.mark.parametrize(("levels", "refused"), [(60, False), (61, True), (50_000, True)])
def test_a_document_nested_deeper_than_a_reader_goes_is_refused_with_its_place(wrap, levels, refused):
    value = None
    for _ in range(levels):
        value = wrap(value)
    document = {"kind": "StreamApp", "spec": {"driver": {"template": {"spec": value}}}}
    if refused:
        with pytest.raises(DocumentError, match=r"spec\.driver\.template\.spec is nested deeper than 64 levels"):
            parse_document(document)
    else:
        assert parse_document(document).problems
