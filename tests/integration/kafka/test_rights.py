"""A broker that checks ACLs: the rights of docs/kafka.md are enough for a whole app, and a missing one is named."""

import json
from contextlib import closing
from dataclasses import replace

import pytest
from tools.kafka.broker import Broker, Login
from tools.kafka.jars import default_cache, kafka_jars
from tools.kafka.security import ACLS

from streamapp_core.spec.systems import SystemSpec
from streamapp_runtime.errors import Drained
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.registry import local_systems
from support import apps, numbered
from support.kafka import PATIENT
from support.kafka_acls import Acls, Right, documented_rights

RECORDS, OUTPUTS = 500, 3
RIGHTS = documented_rights()
TOPICS = "<prefix>."


@pytest.fixture(scope="module")
def broker():
    login = Login(username="ann", password="of-ann")
    with Broker(kafka_jars(default_cache()), login=login, settings=ACLS | PATIENT) as broker:
        yield broker


@pytest.fixture(autouse=True)
def secret(tmp_path, monkeypatch):
    secret = tmp_path / "secrets" / "kafka-login"
    secret.mkdir(parents=True)
    (secret / "username").write_text("ann")
    (secret / "password").write_text("of-ann")
    monkeypatch.setenv("STREAMAPP_SECRETS", str(tmp_path / "secrets"))


class Life:
    """An app of the user, from its first start over a growth of its input to a fresh run; anybody may look on."""

    def __init__(self, folder, broker, name, rights):
        self.folder, self.name = folder, name
        open_to_all = {"kafka": {"bootstrapServers": broker.bootstrap_servers}}
        secured = {
            "kafka": {
                "bootstrapServers": broker.secured_servers,
                "config": {"ssl.ca.pem": broker.certificate.read_text()},
                "auth": {"secretName": "kafka-login", "mechanism": "PLAIN"},
            }
        }
        numbered.lay_out(folder, open_to_all, name, records=RECORDS, bounded=False)
        self.system = SystemSpec.model_validate_json(json.dumps(open_to_all))
        with self.admin() as admin:
            admin.create({numbered.stream_of(name, output): OUTPUTS for output in ("out", "counts")})
        self.app = numbered.app(secured, name, bounded=False)
        inputs, outputs = [f"{name}.in"], [f"{name}.out", f"{name}.counts"]
        Acls(broker.bootstrap_servers, "ann").grant(rights, f"default.{name}", inputs=inputs, outputs=outputs)

    def admin(self):
        return closing(local_systems(self.folder).open_transactional_admin(numbered.HUB, self.system))

    def live(self):
        self.run(until=lambda: len(numbered.results(self.folder)["out"]) >= RECORDS)
        self.run(fresh=True, run_id="r2")
        self.drop_state()
        self.run(fresh=True, run_id="r3")
        with self.admin() as admin:
            admin.expand(numbered.stream_of(self.name, "in"), 2 * numbered.PARTITIONS)
        self.run()

    def run(self, *, until=lambda: True, fresh=False, run_id="r1"):
        with pytest.raises(Drained):
            apps.run(self.app, self.folder, fresh=fresh, run_id=run_id, drain=until)

    def drop_state(self):
        """Leave what needs no state: such an app gets more tasks when inputs grow, and its changelog partitions."""
        self.app["spec"]["operators"] = [{"name": "sent", "from": "in", "sendTo": "out"}]
        for name in ("counts", "names"):
            del self.app["spec"]["streams"][name]
        del self.app["spec"]["tables"]


def test_the_documented_rights_are_enough_and_nothing_is_missed_by_them(tmp_path, broker, caplog):
    life = Life(tmp_path, broker, "all-rights", RIGHTS)
    life.live()
    assert "AUTHORIZATION" not in caplog.text
    with life.admin() as admin:
        left = admin.beginning_with("default.all-rights.")
    assert left == ["default.all-rights._coordinator", "default.all-rights.r3._changelog"]


READ_INPUT = Right("topic", "literal", "every input and side input", "Read")
WRITE_OUTPUT = Right("topic", "literal", "every output", "Write")
OUTPUT_SETTINGS = Right("topic", "literal", "every output", "DescribeConfigs")
OURS = Right("topic", "prefixed", TOPICS, "Create")
TRANSACTIONS = Right("transactional id", "prefixed", TOPICS, "Write")
GROUP = Right("group", "literal", "<prefix>", "Read")

ENDED_BY = {
    "input-described": (READ_INPUT, None, r"needs Describe on topic x\.in:"),
    "input-read": (READ_INPUT, "Describe", r"needs Read on topic x\.in"),
    "output-described": (WRITE_OUTPUT, None, r"needs Describe on topic x\.(out|counts):"),
    "output-written": (WRITE_OUTPUT, "Describe", r"needs Write on topic .*x\.(out|counts)"),
    "output-settings": (OUTPUT_SETTINGS, None, r"needs DescribeConfigs on topic x\.(out|counts):"),
    "topics-created": (OURS, None, r"needs Create on topic default\.x\._coordinator:"),
    "topics-read": (replace(OURS, operation="Read"), None, r"needs Read on topic default\.x\._coordinator:"),
    "topics-written": (replace(OURS, operation="Write"), None, r"needs Write on topic default\.x\._coordinator:"),
    "topics-expanded": (replace(OURS, operation="Alter"), None, r"needs Alter on topic default\.x\.r3\._changelog:"),
    "topics-deleted": (replace(OURS, operation="Delete"), None, r"needs Delete on topic default\.x\.r1\._changelog:"),
    "transactions": (TRANSACTIONS, None, r"needs Write on transactional id default\.x\._coordinator:"),
}


@pytest.mark.parametrize("case", ENDED_BY)
def test_a_right_that_is_missing_ends_the_app_and_is_named_with_its_user(tmp_path, broker, case):
    missing, instead, expected = ENDED_BY[case]
    assert missing in RIGHTS
    rights = [right for right in RIGHTS if right != missing]
    rights += [] if instead is None else [replace(missing, operation=instead)]
    life = Life(tmp_path, broker, case, rights)
    with pytest.raises(StreamSystemError, match="(?s)" + "User:ann " + expected.replace("x", case, 1)):
        life.live()


@pytest.mark.parametrize("operation", ["Read", "Delete"])
def test_without_rights_on_its_group_an_app_runs_and_says_what_is_missing(tmp_path, broker, caplog, operation):
    missing = replace(GROUP, operation=operation)
    assert missing in RIGHTS
    name = f"group-{operation.lower()}"
    Life(tmp_path, broker, name, [right for right in RIGHTS if right != missing]).live()
    assert f"User:ann needs {operation} on consumer group default.{name}:" in caplog.text


def test_every_documented_right_is_missed_by_a_test():
    tried = {missing for missing, *_ in ENDED_BY.values()} | {replace(GROUP, operation=o) for o in ("Read", "Delete")}
    assert set(RIGHTS) == tried
