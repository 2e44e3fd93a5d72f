"""A schema registry in this process, with Confluent's API as far as it is used, and no rules of its own."""

import base64
import json
from contextlib import contextmanager
from urllib.parse import unquote

from streamapp_systems.http_server import HttpServer, Response

NOT_FOUND = Response(404, b'{"error_code": 40401, "message": "not found"}', "application/json")


class StubRegistry:
    """Keeps schemas in order: the id of one is its place in `schemas`, from 1 on; `refusal` is why none fits."""

    def __init__(self):
        self.schemas = []
        self.subjects = {}
        self.refusal = None
        self.broken = None
        self.login = None
        self.url = ""

    def add(self, subject, schema, **more):
        """Register a schema, given as JSON's values or as text; return its id."""
        entry = {"schema": schema if isinstance(schema, str) else json.dumps(schema), **more}
        if entry not in self.schemas:
            self.schemas.append(entry)
        number = self.schemas.index(entry) + 1
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def answer(self, request):
        expected = None if self.login is None else f"Basic {base64.b64encode(self.login.encode()).decode()}"
        if expected is not None and request.authorization != expected:
            return Response(401, b'{"error_code": 401, "message": "who are you?"}')
        if self.broken is not None:
            return self.broken
        path = [unquote(part) for part in request.path.partition("?")[0].strip("/").split("/")]
        body = json.loads(request.read()) if request.method == "POST" else None
        found = self._answer(request.method, path, body)
        return NOT_FOUND if found is None else Response(200, json.dumps(found).encode(), "application/json")

    def _answer(self, method, path, body):
        match method, path:
            case "GET", ["schemas", "ids", number]:
                known = number.isdecimal() and 0 < int(number) <= len(self.schemas)
                return self.schemas[int(number) - 1] if known else None
            case "GET", ["subjects", subject, "versions"]:
                versions = self.subjects.get(subject)
                return versions and list(range(1, len(versions) + 1))
            case "GET", ["subjects", subject, "versions", version]:
                number = self.subjects[subject][int(version) - 1]
                return {**self.schemas[number - 1], "id": number}
            case "POST", ["subjects", subject, "versions"]:
                return {"id": self.add(subject, **body)}
            case "POST", ["subjects", subject]:
                known = [number for number in self.subjects.get(subject, ()) if self.schemas[number - 1] == body]
                return {"id": known[0]} if known else None
            case "POST", ["compatibility", "subjects", subject, "versions", "latest"]:
                if subject not in self.subjects:
                    return None
                return {"is_compatible": self.refusal is None, "messages": [self.refusal] if self.refusal else []}
        return None


@contextmanager
def stub_registry():
    registry = StubRegistry()
    with HttpServer(registry.answer, ("127.0.0.1", 0), name="registry") as server:
        registry.url = f"http://127.0.0.1:{server.port}"
        yield registry
