"""Stores of objects: which one is meant, as whom, and what its errors mean."""

import pytest

from streamapp_core.spec.table_systems import ObjectStore
from streamapp_systems.objects import FilesMade, ObjectPath, open_place
from streamapp_systems.objects.store_errors import explained_store_error
from streamapp_systems.protocols import StreamSystemError, Unavailable
from streamapp_systems.secret_reader import LocalSecrets


def opened(tmp_path, store=None, path="s3://bucket/a/b", **environment):
    secrets = LocalSecrets({"STREAMAPP_SECRETS": str(tmp_path), **environment})
    return open_place(tmp_path, path, store, environment, secrets)


def test_a_folder_stays_a_folder(tmp_path):
    assert opened(tmp_path, path="a/b") == tmp_path / "a" / "b"
    assert opened(tmp_path, path="/mnt/a") == type(tmp_path)("/mnt/a")


def test_the_spec_comes_before_the_environment(tmp_path):
    bucket = opened(tmp_path).bucket
    assert (bucket.endpoint, bucket.region, bucket.path_style) == (None, "us-east-1", False)
    variables = {"AWS_REGION": "eu-1", "AWS_ENDPOINT_URL": "http://there:1/"}
    bucket = opened(tmp_path, **variables).bucket
    assert (bucket.endpoint, bucket.region, bucket.path_style) == ("http://there:1", "eu-1", True)
    store = ObjectStore(endpoint="https://here:2", region="eu-2", pathStyle=False)
    bucket = opened(tmp_path, store, **variables).bucket
    assert (bucket.endpoint, bucket.region, bucket.path_style) == ("https://here:2", "eu-2", False)
    assert bucket.storage_options["aws_allow_http"] == "false"


@pytest.mark.parametrize("endpoint", ["minio:9000", "127.0.0.1:9000", "http://minio:port", "https://", "http://:1"])
def test_an_address_without_scheme_host_or_port_is_refused(tmp_path, endpoint):
    with pytest.raises(StreamSystemError, match=f"`{endpoint}` is no address of a store: write it with scheme"):
        opened(tmp_path, AWS_ENDPOINT_URL=endpoint)


def test_credentials_are_those_of_the_secret_and_are_never_shown(tmp_path):
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "access-key-id").write_text("key\n")
    with pytest.raises(
        StreamSystemError, match=r"store.secretName: secret lake has no secret-access-key .*: set STREAMAPP_"
    ):
        opened(tmp_path, ObjectStore(secretName="lake"))
    (tmp_path / "lake" / "secret-access-key").write_text("hush\n")
    bucket = opened(tmp_path, ObjectStore(secretName="lake")).bucket
    assert bucket.credentials == {"access_key_id": "key", "secret_access_key": "hush"}
    assert "hush" not in repr(bucket)
    assert bucket.storage_options["aws_secret_access_key"] == "hush"


LOGIN = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "hush"}


def test_without_a_secret_credentials_are_those_of_the_environment_or_found_by_the_libraries(tmp_path):
    login = {"access_key_id": "key", "secret_access_key": "hush"}
    assert opened(tmp_path, **LOGIN).bucket.credentials == login
    assert opened(tmp_path, AWS_SESSION_TOKEN="t", **LOGIN).bucket.credentials == login | {"session_token": "t"}
    assert opened(tmp_path, AWS_ACCESS_KEY_ID="key", TOKEN="t").bucket.credentials == {}


@pytest.mark.parametrize("name", ["AWS_SESSION_TOKEN", "AWS_TOKEN", "TOKEN", "session_token"])
def test_a_token_of_the_environment_that_is_none_of_the_secret_is_refused(tmp_path, name):
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "access-key-id").write_text("key")
    (tmp_path / "lake" / "secret-access-key").write_text("hush")
    store = ObjectStore(secretName="lake")
    with pytest.raises(StreamSystemError, match=f"the environment variable {name} would be sent"):
        opened(tmp_path, store, **{name: "t"})
    (tmp_path / "lake" / "session-token").write_text("t")
    assert opened(tmp_path, store, **{name: "t"}).bucket.credentials["session_token"] == "t"


def test_a_bucket_whose_name_has_dots_is_no_host(tmp_path):
    assert opened(tmp_path, path="s3://a.bucket/a").bucket.path_style


def test_names_below_a_path_are_keys():
    place = ObjectPath(None, "a/b")  # type: ignore[arg-type]
    assert [(place / name).key for name in ("c", "c/d", "")] == ["a/b/c", "a/b/c/d", "a/b"]
    assert ((place / "c.csv.gz").name, (place / "c.csv.gz").suffix, place.parent.key) == ("c.csv.gz", ".gz", "a")
    assert (ObjectPath(None, "") / "c").parts == ("c",)  # type: ignore[arg-type]


def answer(status, code="", more=""):
    return (
        f"Generic S3 error: Error performing GET http://s3/b/k in 1ms - Server returned non-2xx status code: {status} "
        f"X: <Error><Code>{code}</Code><Message>Something.</Message>{more}</Error>\n\nDebug source:\n secret body"
    )


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (
            answer(403, "AccessDenied"),
            StreamSystemError,
            "denies it: Something. (AccessDenied). Grant the user s3:List",
        ),
        (answer(403, "SignatureDoesNotMatch"), StreamSystemError, "refuses the credentials"),
        (answer(404, "NoSuchBucket"), StreamSystemError, "no such bucket"),
        (answer(301, "PermanentRedirect"), StreamSystemError, "set `store.region` to that of the bucket"),
        (
            answer(400, "AuthorizationHeaderMalformed", "<Region>eu-3</Region>"),
            StreamSystemError,
            "set `store.region` to `eu-3`",
        ),
        (answer(501, "NotImplemented"), StreamSystemError, "Something. (NotImplemented)"),
        (answer(503, "SlowDown"), Unavailable, "does not answer: Something. (SlowDown)"),
        (answer(500, "InternalError"), Unavailable, "does not answer"),
        (answer(507, "XMinioStorageFull"), Unavailable, "does not answer"),
        (answer(409, "ConditionalRequestConflict"), Unavailable, "does not answer"),
        (answer(403, "RequestTimeTooSkewed"), StreamSystemError, "or the clock"),
        ("Generic S3 error: Invalid Zone suffix for bucket 'bucket'", StreamSystemError, "Invalid Zone suffix"),
        ("Error performing GET http://s3 in 20s, after 9 retries - HTTP error: timed out", Unavailable, "timed out"),
        (
            "Error performing GET https://s3/b in 1ms - HTTP error: error sending request\n\nDebug source:\n"
            "InvalidCertificate(\n    UnknownIssuer,\n)",
            StreamSystemError,
            "the certificate of S3 in eu-1 is not trusted (UnknownIssuer): write that of its authority to a file",
        ),
        (
            "error sending request\n  \x1b[31m↳\x1b[0m invalid peer certificate\n  \x1b[31m↳\x1b[0m Expired",
            StreamSystemError,
            "is not trusted (Expired)",
        ),
        (
            "Error performing PUT http://169.254.169.254/latest/api/token - HTTP error: error sending request",
            StreamSystemError,
            "there are no credentials for S3 in eu-1: name a secret",
        ),
    ],
)
def test_an_error_says_what_is_the_matter(text, kind, said):
    error = explained_store_error("s3://b/k", "S3 in eu-1", OSError(text))
    assert type(error) is kind
    assert said in str(error)
    assert str(error).startswith("s3://b/k: ")
    assert "secret body" not in str(error)


def test_the_colours_and_lines_of_the_tables_library_are_not_told():
    arrow = "\n  \x1b[31m↳\x1b[0m "
    coloured = f"Kernel error -> Generic S3 error{arrow}Server returned non-2xx status code{arrow}503 X"
    error = explained_store_error("t", "S3", OSError(coloured))
    assert isinstance(error, Unavailable)
    assert "\x1b" not in str(error)


def test_files_that_are_made_for_a_folder_are_made_there(tmp_path):
    made = FilesMade(tmp_path)
    assert made.folder == tmp_path
    (tmp_path / "a").write_text("a")
    made.deliver("a")
    made.close()
    assert (tmp_path / "a").read_text() == "a"


def test_files_that_were_not_delivered_to_a_store_go():
    made = FilesMade(ObjectPath(None, "a"))  # type: ignore[arg-type]
    (made.folder / "a").write_text("a")
    made.close()
    assert not made.folder.exists()
