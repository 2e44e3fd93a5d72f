"""Systems whose paths are URLs of stores of objects: what is refused, with every reason at once."""

import pytest

from support.plan_documents import document, planned

READ = "`rows` is read from a store of objects, where a journal can't be locked: name a folder of a disk"


def app(kind, name="rows", **system):
    return document(
        [{"name": "sent", "from": "rows", "sendTo": "out"}],
        streams={
            "rows": {"system": "lake", "schema": "k bigint", "name": name},
            "out": {"system": "log", "key": "k"},
        },
        systems={"log": {"log": {"path": "log"}}, "lake": {kind: system}},
    )


def found(*given, **system):
    return [
        (problem.path.removeprefix("spec."), problem.message) for problem in planned(app(*given, **system)).problems
    ]


def test_a_table_in_a_bucket_is_accepted():
    store = {"endpoint": "http://minio:9000", "region": "eu-1", "pathStyle": True, "secretName": "lake"}
    assert found("delta", path="s3://a-bucket/folder", journal="journal", store=store) == []
    assert found("delta", path="s3://a-bucket/", journal="journal") == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("s3a://bucket/folder", "is Hadoop's name of it: write `s3://bucket/folder`"),
        ("gs://bucket/folder", "`gs://` is no store that is read: use one that speaks S3"),
        ("abfss://box@account.dfs.core.windows.net/folder", "`abfss://` is no store that is read"),
        ("file:///mnt/lake", "`file://` is no store that is read"),
        ("s3://Bucket/folder", "`Bucket` is no name of a bucket"),
        ("s3:/bucket/folder", "`s3:` has two slashes behind it: write `s3://bucket/folder`"),
        ("S3a:bucket", "`S3a:` has two slashes behind it: write `S3a://bucket/`"),
        ("s3:///folder", "`` is no name of a bucket"),
        ("s3://bucket/a/../b", "has `.`, `..` or empty parts"),
        ("s3://bucket/a//b", "has `.`, `..` or empty parts"),
    ],
)
def test_a_path_that_is_no_bucket_is_refused(path, said):
    ((place, message),) = found("delta", path=path, journal="journal")
    assert place == "systems.lake.delta.path"
    assert said in message


def test_every_reason_is_told_at_once():
    problems = dict(found("delta", "../t", path="gs://b"))
    assert problems.keys() == {"systems.lake.delta.path", "streams.rows.name", "systems.lake.delta.journal"}
    assert READ in problems["systems.lake.delta.journal"]


@pytest.mark.parametrize("name", ["/t", "../t", "a/./t", "a//t"])
def test_a_name_that_no_key_has_is_refused(name):
    ((place, _),) = found("delta", name, path="s3://a-bucket", journal="journal")
    assert place == "streams.rows.name"


def files_in(path, **system):
    files = {"file": {"path": path, **system}}
    sent = document(
        [{"name": "sent", "from": "rows", "sendTo": "out"}],
        streams={"rows": {"schema": "k bigint"}, "out": {"system": "files", "format": "parquet"}},
        systems={"log": {"log": {"path": "log"}}, "files": files},
    )
    return [(problem.path.removeprefix("spec."), problem.message) for problem in planned(sent).problems]


def test_files_are_written_to_stores():
    assert files_in("s3://a-bucket/out", store={"region": "eu-1"}, commitEvery="1m", targetFileSize="4Gi") == []
    ((place, said),) = files_in("s3://a-bucket", commitEvery="1m", targetFileSize="5G")
    assert (place, "set 4Gi at most" in said) == ("systems.files.file.targetFileSize", True)
    ((place, said),) = files_in("gs://a-bucket")
    assert (place, "`gs://` is no store" in said) == ("systems.files.file.path", True)
    assert [place for place, _ in files_in("out", store={})] == ["systems.files.file.store"]
    assert files_in("out", commitEvery="1m", targetFileSize="5G") == []


def test_only_tables_of_delta_and_folders_that_are_read_are_in_stores():
    assert found("folder", "2024/**/*.json", path="s3://a-bucket", journal="journal", store={"region": "eu-1"}) == []
    assert [place for place, _ in found("folder", path="s3://a-bucket")] == ["systems.lake.folder.journal"]
    ((place, said),) = found("file", path="s3://a-bucket")
    assert place == "streams.rows.system"
    assert "with a system `folder: {path: s3://a-bucket}`" in said
    assert [place for place, _ in found("log", path="s3://a-bucket/log")] == ["systems.lake.log.path"]


def test_code_in_a_store_is_refused():
    spec = app("delta", path="lake")
    spec["spec"]["pyFiles"] = ["code", "s3://a-bucket/code.zip"]
    ((place, said),) = [(problem.path, problem.message) for problem in planned(spec).problems]
    assert place == "spec.pyFiles[1]"
    assert "put it beside the app's file" in said


def test_what_a_store_alone_has_is_refused_elsewhere():
    for kind in ("delta", "folder"):
        assert [place for place, _ in found(kind, path="lake", store={})] == [f"systems.lake.{kind}.store"]
    assert [place for place, _ in found("delta", path="lake", journal="s3://a-bucket")] == [
        "systems.lake.delta.journal"
    ]
