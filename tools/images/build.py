"""Makes the operator's and the runtime's image, in the way this machine allows."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.images.archive import write_archive
from tools.images.base import KAFKA, OPERATOR, RUNTIME, app_base, operator_image, runtime_image
from tools.images.code import code_layer
from tools.images.dockerfiles import build_with, usable_engine
from tools.images.labels import checkout_labels
from tools.kafka.manifests import published_image


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltImages:
    """Images in an archive, for `kind load image-archive` and the like.

    An archive that is not `complete` holds the code only: for nodes that have the base baked in. Kafka's image is the
    published one where images can be pulled, and then not in the archive. `sizes` are the bytes of all layers, by name.
    """

    archive: Path
    made: str
    complete: bool
    operator: str = OPERATOR
    runtime: str = RUNTIME
    kafka: str = KAFKA
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, str, str]:
        """The operator's, the runtime's and Kafka's image."""
        return self.operator, self.runtime, self.kafka


def build_images(cache: Path, into: Path, *, baked: bool = False, self_made: bool = False) -> BuiltImages:
    """Make the images and write them to a folder.

    Args:
        cache: where the costly parts are kept.
        into: gets the archive.
        baked: they are for nodes with the self-made base baked in, so its layers need not be written.
        self_made: make them without an image registry even where one can be reached.

    Raises:
        ClusterError: they can't be made here.
    """
    into.mkdir(parents=True, exist_ok=True)
    archive = into / "streamapp-images.tar"
    engine = None if baked or self_made else usable_engine()
    if engine:
        sizes = build_with(engine, archive)
        made = f"from the Dockerfiles, by {engine}"
        return BuiltImages(archive=archive, made=made, complete=True, kafka=published_image(), sizes=sizes)
    base = app_base(cache)
    with tempfile.TemporaryDirectory() as work:
        code, labels = code_layer(Path(work)), checkout_labels()
        images = [operator_image(base, code, labels), runtime_image(base, code, labels), base.kafka]
        write_archive(archive, images[:-1] if baked else images, without=base.layers if baked else ())
    made = "self-made, from Debian's and Python's packages"
    sizes = {image.name: image.size for image in images}
    return BuiltImages(archive=archive, made=made, complete=not baked, sizes=sizes)
