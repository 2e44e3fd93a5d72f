"""What kubeconform and kube-score say of manifests; kubeconform goes by the schemas of an API server of ours."""

import json

from tools.cluster.process import attempt

_CRITICAL = 1
"""Kube-score's grade of what must not be."""
_OPEN = ("additionalProperties", "x-kubernetes-preserve-unknown-fields")


def write_schemas(kubectl, folder, objects):
    """Write a JSON schema for each kind of objects that an API server has; it refuses fields that the kind lacks."""
    wanted = {(item["apiVersion"], item["kind"]) for item in objects}
    known = json.loads(kubectl("get", "--raw", "/openapi/v3"))["paths"]
    for version in {version for version, _ in wanted}:
        path = f"{'apis' if '/' in version else 'api'}/{version}"
        if path in known:
            document = json.loads(kubectl("get", "--raw", f"/openapi/v3/{path}"))
            _write_group(document, folder, version, {kind for v, kind in wanted if v == version})


def _write_group(document, folder, version, kinds):
    parts = {name: _strict(part) for name, part in document["components"]["schemas"].items()}
    for name, part in parts.items():
        for kind in part.get("x-kubernetes-group-version-kind", ()):
            if kind["kind"] not in kinds or f"{kind['group']}/{kind['version']}".strip("/") != version:
                continue
            suffix = "-".join(filter(None, (kind["group"].partition(".")[0], kind["version"])))
            file = f"{kind['kind'].lower()}-{suffix}.json"
            whole = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": parts}}
            (folder / file).write_text(json.dumps(whole))


def _strict(part):
    if isinstance(part, list):
        return [_strict(below) for below in part]
    if not isinstance(part, dict):
        return part
    closed = {name: _strict(below) for name, below in part.items()}
    if isinstance(part.get("properties"), dict) and part.get("type") == "object" and not part.keys() & set(_OPEN):
        closed["additionalProperties"] = False
    return closed


def conform(programs, schemas, text):
    """Return what kubeconform says of each object: its kind, the status, and the fault if there is one."""
    place = f"{schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    command = [programs / "kubeconform", "-strict", "-verbose", "-output=json", f"-schema-location={place}", "-"]
    answer = json.loads(attempt(command, text=text).stdout)
    return [(found["kind"], found["status"], found["msg"]) for found in answer["resources"]]


def find_criticals(programs, text):
    """Return what kube-score calls critical: the object's kind, and the name of the check.

    It is told that containers need no limit of CPU time: an operator that is throttled can't renew its lease.
    """
    command = [programs / "kube-score", "score", "--output-format=json", "--ignore-container-cpu-limit", "-"]
    done = attempt(command, text=text)
    assert done.stdout, done.stderr
    return {
        (item["type_meta"]["kind"], check["check"]["id"])
        for item in json.loads(done.stdout)
        for check in item["checks"]
        if not check["skipped"] and check["grade"] == _CRITICAL
    }
