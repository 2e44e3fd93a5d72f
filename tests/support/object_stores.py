"""Buckets of the S3 server that tests run."""

from tools.object_store.server import ACCESS_KEY, REGION, SECRET_KEY

from streamapp_systems.objects import ObjectBucket, ObjectPath

SECRET = {"STREAMAPP_SECRET_LAKE_ACCESS_KEY_ID": ACCESS_KEY, "STREAMAPP_SECRET_LAKE_SECRET_ACCESS_KEY": SECRET_KEY}
"""The environment of a process that may read the secret `lake`."""


def bucket_at(endpoint: str, name: str, *, region: str = REGION, secret: str = SECRET_KEY) -> ObjectPath:
    """Give the root of a bucket."""
    login = {"access_key_id": ACCESS_KEY, "secret_access_key": secret}
    return ObjectPath(ObjectBucket(name=name, endpoint=endpoint, region=region, path_style=True, credentials=login), "")


def system_in(bucket: ObjectPath, **more: str) -> dict:
    """Give the system of the tables in a bucket, as in a spec."""
    return {
        "delta": {
            "path": f"{bucket}/lake",
            "store": {"endpoint": bucket.bucket.where, "region": REGION, "secretName": "lake"},
            **more,
        }
    }
