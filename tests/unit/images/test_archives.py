"""Image archives: what a node or an engine needs to make images of them is there, and only that."""

import hashlib
import json
import tarfile

import pytest
from tools.images.archive import Image, write_archive
from tools.images.layers import added, read_layer, tree_state, write_layer


@pytest.fixture
def layers(tmp_path):
    """A layer below and one above."""
    made = []
    for name in ("below", "above"):
        tree, folder = tmp_path / name / "tree", tmp_path / name
        (tree / "opt" / name).mkdir(parents=True)
        (tree / "opt" / name / "file").write_text(name)
        write_layer(folder, tree, sorted(tree_state(tree)), owned_by_root=True)
        made.append(read_layer(folder))
    return tuple(made)


def contents(archive):
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


def blob(files, descriptor):
    data = files[f"blobs/{descriptor['digest'].replace(':', '/')}"]
    assert len(data) == descriptor["size"]
    assert f"sha256:{hashlib.sha256(data).hexdigest()}" == descriptor["digest"]
    return data


def test_an_archive_leads_from_names_to_layers(tmp_path, layers):
    runs = {"user": "1:1", "environment": {"A": "b"}, "command": ("run",), "labels": {"version": "1"}}
    image = Image(name="localhost/it:dev", layers=layers, **runs)
    write_archive(tmp_path / "archive", [image])
    files = contents(tmp_path / "archive")
    (entry,) = json.loads(files["index.json"])["manifests"]
    assert entry["annotations"]["io.containerd.image.name"] == "localhost/it:dev"
    manifest = json.loads(blob(files, entry))
    config = json.loads(blob(files, manifest["config"]))
    labels = {"Labels": {"version": "1"}}
    assert config["config"] == {"User": "1:1", "Env": ["A=b"], "Cmd": ["run"], "WorkingDir": "/", **labels}
    assert config["rootfs"]["diff_ids"] == [layer.digest for layer in layers]
    for descriptor, layer in zip(manifest["layers"], layers, strict=True):
        assert blob(files, descriptor) == layer.tar.read_bytes()


def test_layers_that_images_share_are_written_once(tmp_path, layers):
    images = [Image(name=f"localhost/{name}:dev", layers=layers) for name in ("a", "b")]
    write_archive(tmp_path / "archive", images)
    with tarfile.open(tmp_path / "archive") as tar:
        names = tar.getnames()
    assert [names.count(f"blobs/{layer.digest.replace(':', '/')}") for layer in layers] == [1, 1]


def test_layers_that_nodes_have_are_named_but_not_written(tmp_path, layers):
    below, above = layers
    write_archive(tmp_path / "archive", [Image(name="localhost/it:dev", layers=layers)], without=(below,))
    files = contents(tmp_path / "archive")
    (entry,) = json.loads(files["index.json"])["manifests"]
    assert [layer["digest"] for layer in json.loads(blob(files, entry))["layers"]] == [below.digest, above.digest]
    assert f"blobs/{below.digest.replace(':', '/')}" not in files
    assert f"blobs/{above.digest.replace(':', '/')}" in files
    assert "manifest.json" not in files


def test_engines_find_a_complete_archive_s_images_in_their_own_list(tmp_path, layers):
    write_archive(tmp_path / "archive", [Image(name="localhost/it:dev", layers=layers)])
    files = contents(tmp_path / "archive")
    (listed,) = json.loads(files["manifest.json"])
    assert listed["RepoTags"] == ["localhost/it:dev"]
    assert all(name in files for name in (listed["Config"], *listed["Layers"]))


def test_the_same_files_make_the_same_layer(tmp_path):
    digests = set()
    for name in ("one", "two"):
        tree, folder = tmp_path / name / "tree", tmp_path / name
        tree.mkdir(parents=True)
        (tree / "file").write_text("content")
        write_layer(folder, tree, sorted(tree_state(tree)), owned_by_root=True)
        digests.add(read_layer(folder).digest)
    assert len(digests) == 1


def test_a_layer_has_what_was_added_or_changed(tmp_path):
    for name in ("kept", "changed"):
        (tmp_path / name).write_text(name)
    before = tree_state(tmp_path)
    (tmp_path / "changed").write_text("otherwise")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "new").write_text("new")
    assert added(before, tree_state(tmp_path)) == ["changed", "folder", "folder/new"]


def test_a_layer_leaves_out_what_nobody_needs_to_run(tmp_path):
    for name in ("usr/share/man/page", "usr/share/doc/it/copyright", "usr/share/doc/it/news", "var/cache/it", "tmp/it"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    files = {path for path in tree_state(tmp_path) if (tmp_path / path).is_file()}
    assert files == {"usr/share/doc/it/copyright"}
    assert "tmp" in tree_state(tmp_path)
