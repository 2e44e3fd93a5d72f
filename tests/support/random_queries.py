"""Random queries in SQL over two streams, with what DuckDB says in their place, and the key of results that change."""

from dataclasses import dataclass, field, replace

STREAMS = {"left": "k string, g int, v int, at timestamp", "right": "k string, h int, w int, at timestamp"}


@dataclass(frozen=True)
class RandomQuery:
    """A query; `columns` are numbers (n) and texts (s), `key` is None if rows stay."""

    spark: str
    duckdb: str
    columns: dict = field(default_factory=dict)
    key: tuple | None = None


class QueryMaker:
    """Draws queries of the grammar of `sql` operators."""

    def __init__(self, random):
        self.random = random
        self.aliases = 0

    def query(self, depth=2):
        """Make a query."""
        makers = [self.projection, self.union, self.distinct, self.groups, self.join, self.first, self.windows]
        return self.random.choice(makers)(depth)

    def source(self, depth, *, append):
        """Make what stands behind `from`: a stream, or a query in parentheses."""
        if depth > 0 and self.random.random() < 0.6:
            inner = self.query(depth - 1)
            while append and inner.key is not None:
                inner = self.query(depth - 1)
            return replace(inner, spark=f"({inner.spark})", duckdb=f"({inner.duckdb})")
        name, columns = self.random.choice(
            [("left", {"k": "s", "g": "n", "v": "n"}), ("right", {"k": "s", "h": "n", "w": "n"})]
        )
        return RandomQuery(f"`{name}`", f'"{name}"', columns)

    def alias(self):
        self.aliases += 1
        return f"t{self.aliases}"

    def column(self, columns, kind=None):
        return self.random.choice([name for name, one in columns.items() if kind in (None, one)] or ["null"])

    def number(self, columns):
        name = self.column(columns, "n")
        if name == "null":
            return "cast(null as int)"
        return self.random.choice(
            [
                name,
                f"{name} + 1",
                f"-{name} * 2",
                f"coalesce({name}, 0)",
                f"{name} % 3",
                f"case when {name} > 1 then {name} else 7 end",
            ]
        )

    def text(self, columns):
        name = self.column(columns, "s")
        return self.random.choice([name, f"upper({name})", f"coalesce({name}, 'none')"]) if name != "null" else "'x'"

    def condition(self, columns):
        one = self.random.choice(
            [
                f"{self.number(columns)} > {self.random.randint(-2, 3)}",
                f"{self.number(columns)} between 0 and {self.random.randint(0, 4)}",
                f"{self.text(columns)} in ('a', 'B', 'none')",
                f"{self.column(columns)} is not null",
                f"{self.column(columns)} is null",
            ]
        )
        if self.random.random() < 0.3:
            return f"{one} {self.random.choice(['and', 'or'])} {self.condition(columns)}"
        return f"not ({one})" if self.random.random() < 0.15 else one

    def where(self, columns):
        return f" where {self.condition(columns)}" if self.random.random() < 0.5 else ""

    def items(self, columns, kept=()):
        """Make a select list; columns of `kept` stay as they are."""
        made, kinds = [*kept], {name: columns[name] for name in kept}
        for number in range(self.random.randint(1, 3)):
            kind = self.random.choice("ns")
            name = f"{kind}{number}"
            if name not in kinds:
                made.append(f"{self.number(columns) if kind == 'n' else self.text(columns)} as {name}")
                kinds[name] = kind
        return ", ".join(made), kinds

    def over(self, source, head, tail=""):
        alias = self.alias()
        return f"{head} from {source.spark} as {alias}{tail}", f"{head} from {source.duckdb} as {alias}{tail}"

    def projection(self, depth):
        source = self.source(depth, append=False)
        if self.random.random() < 0.2:
            items, kinds = "*", source.columns
        else:
            items, kinds = self.items(source.columns, source.key or ())
        return RandomQuery(*self.over(source, f"select {items}", self.where(source.columns)), kinds, source.key)

    def union(self, depth):
        branches, named = [], None
        for _ in range(2):
            source = self.source(depth, append=True)
            head = f"select {self.number(source.columns)} as n0, {self.text(source.columns)} as s0"
            branches.append(self.over(source, head, self.where(source.columns)))
        texts = [" union all ".join(texts) for texts in zip(*branches, strict=True)]
        if self.random.random() < 0.5:
            named = self.alias()
            texts = [f"with {named} as ({text}) select n0, s0 from {named} where n0 > 0" for text in texts]
        return RandomQuery(*texts, {"n0": "n", "s0": "s"})

    def distinct(self, depth):
        source = self.source(depth, append=True)
        items, kinds = self.items(source.columns)
        return RandomQuery(*self.over(source, f"select distinct {items}", self.where(source.columns)), kinds)

    def aggregate(self, columns):
        number = self.column(columns, "n")
        if number == "null":
            return "count(*)"
        return self.random.choice(
            [
                "count(*)",
                f"sum({number})",
                f"max({number})",
                f"min({number} + 1)",
                f"count({number})",
                f"count(distinct {number})",
                f"count(*) filter (where {number} > 1)",
                f"sum({number}) + count(*)",
            ]
        )

    def groups(self, depth):
        source = self.source(depth, append=False)
        columns = source.columns
        alias = self.random.choice([True, False])
        group = self.text(columns) if alias else self.column(columns)
        kinds = {"grouped": "s" if alias else columns[group], "n0": "n", "n1": "n"}
        head = f"select {group} as grouped, {self.aggregate(columns)} as n0, {self.aggregate(columns)} as n1"
        by = self.random.choice([group, "1", *([] if "grouped" in columns else ["grouped"])])
        having = f" having {self.aggregate(columns)} > 1" if self.random.random() < 0.4 else ""
        tail = f"{self.where(columns)} group by {by}{having}"
        return RandomQuery(*self.over(source, head, tail), kinds, ("grouped",))

    def join(self, depth):
        sides = [self.source(depth, append=True) for _ in range(2)]
        kind = self.random.choice([one for one in "sn" if all(one in side.columns.values() for side in sides)] or "-")
        if kind == "-":
            return self.projection(depth)
        names = [self.alias(), self.alias()]
        keys = [f"{name}.{self.column(side.columns, kind)}" for name, side in zip(names, sides, strict=True)]
        fields = [
            (name, column, one) for name, side in zip(names, sides, strict=True) for column, one in side.columns.items()
        ]
        chosen = self.random.sample(fields, min(len(fields), 3))
        items = ", ".join(f"{name}.{column} as {one}{at}" for at, (name, column, one) in enumerate(chosen))
        kinds = {f"{one}{at}": one for at, (_, _, one) in enumerate(chosen)}
        qualified = {f"{name}.{column}": one for name, column, one in fields}
        extra = f" and {self.condition(qualified)}" if self.random.random() < 0.4 else ""
        extra = extra if " or " not in extra else f" and ({extra.removeprefix(' and ')})"
        other = [[column for column, one in side.columns.items() if one == "n"] for side in sides]
        if all(other) and self.random.random() < 0.5:
            extra += " and " + " = ".join(f"{n}.{self.random.choice(of)}" for n, of in zip(names, other, strict=True))
        where = self.where(qualified)
        comma = self.random.random() < 0.3 and not where
        times = ["", ""]
        if all(side.spark.startswith("`") for side in sides) and self.random.random() < 0.6:
            before, after = self.random.randint(0, 6), self.random.randint(0, 6)
            bound = (
                "{0}.{q}at{q} between {1}.{q}at{q} - interval '{b} seconds' and {1}.{q}at{q} + interval '{a} seconds'"
            )
            times = [f" and {bound.format(*names, q=q, b=before, a=after)}" for q in '`"']
        texts = []
        for dialect, time in zip(("spark", "duckdb"), times, strict=True):
            first, second = (f"{getattr(side, dialect)} as {name}" for side, name in zip(sides, names, strict=True))
            how = f"{first}, {second} where" if comma else f"{first} join {second} on"
            texts.append(f"select {items} from {how} {keys[0]} = {keys[1]}{time}{extra}{where}")
        return RandomQuery(*texts, kinds)

    def outer_join(self):
        """Make an outer join of two streams, with what else may stand in and around it."""
        names = [self.alias(), self.alias()]
        columns = [{"k": "s", "g": "n", "v": "n"}, {"k": "s", "h": "n", "w": "n"}]
        if self.random.random() < 0.2:
            columns[1] = columns[0]
        qualified = {
            f"{name}.{column}": one for name, own in zip(names, columns, strict=True) for column, one in own.items()
        }
        streams = ["left" if own is columns[0] else "right" for own in columns]
        inner = [self.random.choice(["", self.condition(own)]) for own in columns]
        kind = self.random.choice(["left", "left outer", "right", "full"])
        equalities = [self._equality(names, columns) for _ in range(self.random.randint(1, 2))]
        conditions = [*equalities, self._bound(names)]
        scopes = [qualified, *self._apart(names, columns)]
        extra = range(self.random.choice([0, 0, 1, 2]))
        conditions += [f"({self.condition(self.random.choice(scopes))})" for _ in extra]
        self.random.shuffle(conditions)
        where = self.where(qualified)
        chosen = self.random.sample(sorted(qualified), 5)
        items = ", ".join(f"{column} as {qualified[column]}{at}" for at, column in enumerate(chosen))
        kinds = {f"{qualified[column]}{at}": qualified[column] for at, column in enumerate(chosen)}
        third = self.alias()
        more = f" join {{q}}right{{q}} as {third} on {third}.k = {self.random.choice(names)}.k and {third}.h = 1"
        more = more if self.random.random() < 0.2 else ""
        wrapped = self.random.random() < 0.3
        texts = []
        for q in '`"':
            first, second = (
                f"(select * from {q}{stream}{q} where {own}) as {name}" if own else f"{q}{stream}{q} as {name}"
                for name, stream, own in zip(names, streams, inner, strict=True)
            )
            on = " and ".join(conditions).replace("?", q)
            text = f"select {items} from {first} {kind} join {second} on {on}{more.format(q=q)}{where}"
            if wrapped:
                text = f"select {next(iter(kinds))} as grouped, count(*) as n0 from ({text}) group by 1"
            texts.append(text)
        if wrapped:
            return RandomQuery(*texts, {"grouped": next(iter(kinds.values())), "n0": "n"}, ("grouped",))
        return RandomQuery(*texts, kinds)

    def _apart(self, names, columns):
        return [
            {f"{name}.{column}": one for column, one in own.items()} for name, own in zip(names, columns, strict=True)
        ]

    def _equality(self, names, columns):
        kind = self.random.choice("sn")
        sides = [f"{name}.{self.column(own, kind)}" for name, own in zip(names, columns, strict=True)]
        if self.random.random() < 0.2:
            sides = [f"upper({side})" if kind == "s" else f"{side} + 1" for side in sides]
        self.random.shuffle(sides)
        return " = ".join(sides)

    def _bound(self, names):
        first, second = self.random.sample(names, 2)
        least, most = sorted(self.random.randint(-6, 6) for _ in range(2))
        bounds = [
            f"{second}.?at? {sign} interval '{abs(number)} seconds'"
            for number in (least, most)
            for sign in "+-"[number < 0]
        ]
        return self.random.choice(
            [
                f"{first}.?at? between {bounds[0]} and {bounds[1]}",
                f"{first}.?at? > {bounds[0]} and {bounds[1]} >= {first}.?at?",
                f"{first}.?at? = {second}.?at?"
                if self.random.random() < 0.2
                else f"{first}.?at? >= {bounds[0]} and {first}.?at? < {bounds[1]}",
            ]
        )

    def first(self, depth):
        source = self.source(depth, append=False)
        by = self.column(source.columns)
        order = ", ".join(f"{name} {self.random.choice(['asc', 'desc'])} nulls first" for name in source.columns)
        n, place = self.random.randint(1, 3), f"place{self.alias()}"
        of_all = self.random.random() < 0.2
        partition = "" if of_all else f"partition by {by} "
        head = f"select *, row_number() over ({partition}order by {order}) as {place}"
        spark, duckdb = self.over(source, head, self.where(source.columns))
        ranked = of_all or n > 1 or self.random.random() < 0.5
        kinds = source.columns | ({place: "n"} if ranked else {})
        forms = [f"{place} <= {n}", f"{place} < {n + 1}", f"{n} >= {place}", f"{place} between 1 and {n}"]
        forms += [f"{place} = 1"] if n == 1 else [f"{place} between 2 and {n}", f"{n} = {place}"]
        condition = self.random.choice(forms)
        texts = [f"select {', '.join(kinds)} from ({text}) where {condition}" for text in (spark, duckdb)]
        return RandomQuery(*texts, kinds, (place,) if of_all else (by, place) if ranked else (by,))

    def windows(self, depth):
        name, columns = self.random.choice(
            [("left", {"k": "s", "g": "n", "v": "n"}), ("right", {"k": "s", "h": "n", "w": "n"})]
        )
        step = self.random.choice([2, 5])
        length = step * self.random.choice([1, 2])
        by = self.column(columns)
        aggregate, where = self.aggregate(columns), self.where(columns)
        window = f"window(at, '{length} seconds', '{step} seconds')"
        grouped = self.random.random() < 0.7
        group = f"{by}, " if grouped else ""
        head = f"select {f'{by} as grouped, ' if grouped else ''}{aggregate} as n0"
        spark = f"{head}, unix_seconds(window.start) as n1 from `{name}`{where} group by {group}{window}"
        starts = f'select *, unnest(range(cast(floor(epoch("at")) as bigint) // {step} * {step} - {length - step}, '
        starts += f'cast(floor(epoch("at")) as bigint) // {step} * {step} + 1, {step})) as started'
        duckdb = f'{head}, started as n1 from ({starts} from (select * from "{name}"{where})) group by {group}started'
        kinds = ({"grouped": columns[by]} if grouped else {}) | {"n0": "n", "n1": "n"}
        return RandomQuery(spark, duckdb, kinds)
