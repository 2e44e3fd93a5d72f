"""The planner's verdict on partition counts against one found by trying all assignments."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from support.plan_documents import document, planned, repaired

COUNTS = (2, 3, 4)
OTHER = 99  # a count that no stream has: what is free could also have this


@st.composite
def apps(draw):
    """An app in which everything is keyed by `k`, so that only partition counts can be wrong; and its counts."""
    counts = {f"s{number}": draw(st.sampled_from(COUNTS)) for number in range(draw(st.integers(2, 4)))}
    broadcast = {name for name in counts if draw(st.integers(0, 9)) == 0}
    everywhere = set(broadcast)
    tables = {f"t{number}": {"key": "k"} for number in range(draw(st.integers(0, 2)))}
    operators, readable = [], list(counts)

    def add(name, **operator):
        operators.append({"name": name, **operator})
        readable.append(name)

    names = st.sampled_from
    for number in range(draw(st.integers(1, 7))):
        source = draw(names(readable))
        kind = draw(names(["merge", "partitionBy", "join", "join", "broadcast" if number == 3 else "join"]))
        other = draw(names([name for name in readable if name != source]))
        if kind == "merge" and not everywhere & {source, other}:
            add(f"o{number}", **{"from": [source, other]}, merge={})
        elif kind == "partitionBy":
            add(f"o{number}", **{"from": source}, partitionBy={"key": "k"})
        elif kind == "broadcast":
            add(f"o{number}", **{"from": source}, broadcast={})
        else:
            add(f"o{number}", **{"from": source}, join={"with": other, "on": "k", "within": "1h"})
        if kind == "broadcast" or (kind != "partitionBy" and everywhere >= {source, other}):
            everywhere.add(f"o{number}")
    for table in tables:
        add(f"look-{table}", **{"from": draw(names(readable))}, joinTable={"table": table, "on": "k"})
    for table, spec in tables.items():
        if draw(st.booleans()):
            spec["sideInputs"] = [f"side-{table}-{number}" for number in range(draw(st.integers(1, 2)))]
            counts |= {name: draw(names(COUNTS)) for name in spec["sideInputs"]}
            broadcast |= {name for name in spec["sideInputs"] if draw(st.integers(0, 4)) == 0}
        else:
            spec["schema"] = "k string"
            for number in range(draw(st.integers(1, 2))):
                filler = {"name": f"fill-{table}-{number}", "from": draw(names(readable)), "sendToTable": table}
                operators.append(filler)
    for number, name in enumerate(readable):
        operators.append({"name": f"end-{number}", "from": name, "sendTo": "out"})
    streams = {name: {"schema": "k string", "key": "k", "broadcast": name in broadcast} for name in counts}
    order = draw(st.permutations(operators))
    return document(order, streams={**streams, "out": {"partitions": 1}}, tables=tables), counts


class BruteForce:
    """Join groups by walking every path back; counts by trying every assignment."""

    def __init__(self, app, counts):
        self.operators = {operator["name"]: operator for operator in app["spec"]["operators"]}
        self.tables = app["spec"]["tables"]
        self.broadcast = {name for name, stream in app["spec"]["streams"].items() if stream.get("broadcast")}
        self.known = {name: count for name, count in counts.items() if name not in self.broadcast}
        self.unknown = sorted(name for name, operator in self.operators.items() if "partitionBy" in operator)
        self.groups = {
            name: self.reaching(name, set()) | self.side_inputs(operator)
            for name, operator in self.operators.items()
            if "join" in operator or "joinTable" in operator
        }
        self.tied = {name: group for name, group in self.groups.items() if not self.meets_everywhere(name)}

    def reaching(self, name, seen):
        if name in seen or name in self.broadcast:
            return set()
        seen.add(name)
        operator = self.operators.get(name)
        if operator is None or "partitionBy" in operator:
            return {name}
        if "broadcast" in operator:
            return set()
        before = operator["from"] if isinstance(operator["from"], list) else [operator["from"]]
        if "join" in operator:
            before = [*before, operator["join"]["with"]]
        if "joinTable" in operator:
            table = operator["joinTable"]["table"]
            before = [*before, *(n for n, other in self.operators.items() if other.get("sendToTable") == table)]
        return set().union(*(self.reaching(other, seen) for other in before))

    def meets_everywhere(self, name):
        """A join next to rows that are in every task needs nothing: the group of one of its sides has no stream."""
        operator = self.operators[name]
        if "join" in operator:
            return any(self.everywhere(side, ()) for side in (operator["from"], operator["join"]["with"]))
        return self.everywhere(operator["joinTable"]["table"], ())

    def everywhere(self, name, seen):
        if name in seen:
            return False
        seen = (*seen, name)
        if name in self.tables:
            fillers = [n for n, operator in self.operators.items() if operator.get("sendToTable") == name]
            return all(self.everywhere(side, seen) for side in [*self.tables[name].get("sideInputs", []), *fillers])
        operator = self.operators.get(name)
        if operator is None or "broadcast" in operator:
            return name in self.broadcast or operator is not None
        if "partitionBy" in operator:
            return False
        read = operator["from"] if isinstance(operator["from"], list) else [operator["from"]]
        other = [operator["join"]["with"]] if "join" in operator else []
        table = [operator["joinTable"]["table"]] if "joinTable" in operator else []
        return all(self.everywhere(source, seen) for source in [*read, *other, *table])

    def side_inputs(self, operator):
        if "joinTable" not in operator:
            return set()
        return set(self.tables[operator["joinTable"]["table"]].get("sideInputs", [])) - self.broadcast

    def solutions(self, groups):
        for values in product([*COUNTS, OTHER], repeat=len(self.unknown)):
            counts = {**self.known, **dict(zip(self.unknown, values, strict=True))}
            if all(len({counts[name] for name in groups[join]}) <= 1 for join in groups):
                yield dict(zip(self.unknown, values, strict=True))

    def own_conflicts(self):
        return {
            join
            for join, group in self.tied.items()
            if len({self.known[name] for name in group if name in self.known}) > 1
        }


def named(app, problems):
    names = [operator["name"] for operator in app["spec"]["operators"]]
    return {names[int(problem.path.split("[")[1].split("]")[0])] for problem in problems}


@given(apps())
def test_counts_and_conflicts_are_those_of_all_possible_assignments(case):
    app, counts = case
    reference = BruteForce(app, counts)
    solutions = list(reference.solutions(reference.tied))
    result = planned(app, counts)
    if not solutions:
        assert {str(problem.code) for problem in result.problems} == {"JoinPartitionMismatch"}
        conflicts = named(app, result.problems)
        assert conflicts >= reference.own_conflicts()
        rest = {join: group for join, group in reference.tied.items() if join not in conflicts}
        assert list(reference.solutions(rest))
        return
    assert result.plan is not None, result.problems
    assert {group.operator: set(group.streams) for group in result.plan.join_groups} == reference.groups
    for name in reference.unknown:
        possible = {solution[name] for solution in solutions}
        stream = result.plan.streams[name]
        if len(possible) == 1:
            assert (str(stream.rule), stream.partitions) == ("joined", *possible)
        else:
            assert str(stream.rule) == "maximum"


@given(apps(), st.data())
def test_the_order_of_the_document_means_nothing(case, data):
    app, counts = case
    spec = app["spec"]
    other = {**app, "spec": {**spec, "operators": data.draw(st.permutations(spec["operators"]))}}
    other["spec"]["streams"] = dict(data.draw(st.permutations(list(spec["streams"].items()))))
    other["spec"]["tables"] = dict(data.draw(st.permutations(list(spec["tables"].items()))))
    one, two = planned(app, counts), planned(other, dict(reversed(counts.items())))
    if one.plan is None or two.plan is None:
        assert {p.message for p in one.problems} == {p.message for p in two.problems}
        assert named(app, one.problems) == named(other, two.problems)
    else:
        assert (list(one.plan.operators), one.plan.streams) == (list(two.plan.operators), two.plan.streams)
        assert (one.plan.join_groups, one.plan.stores) == (two.plan.join_groups, two.plan.stores)
        assert one.plan.topology_hash == two.plan.topology_hash


@given(apps())
def test_each_repair_removes_its_problem_and_repairs_lead_to_a_plan(case):
    app, counts = case
    result = planned(app, counts)
    for problem in result.problems:
        mended = repaired(app, problem.repair)
        assert not named(app, [problem]) & named(mended, planned(mended, counts).problems)
    for _ in range(2 * len(app["spec"]["operators"])):
        if result.problems:
            app = repaired(app, result.problems[0].repair)
            result = planned(app, counts)
    assert result.plan is not None, result.problems


@given(apps())
def test_problems_are_sorted_and_unique(case):
    app, counts = case
    app["spec"]["operators"] += [{"name": "bad", "from": "nowhere", "sendTo": "lost"}] * 2
    problems = planned(app, counts).problems
    keys = [(problem.path, problem.code, problem.message) for problem in problems]
    assert len(set(keys)) == len(keys)
    indexes = [int(p.path.split("[")[1].split("]")[0]) for p in problems if p.path.startswith("spec.operators[")]
    assert indexes == sorted(indexes)
