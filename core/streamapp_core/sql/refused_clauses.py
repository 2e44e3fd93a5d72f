"""The clauses of Spark's SQL that can't be planned, and what to write instead."""

from collections.abc import Mapping

from sqlglot.tokenizer_core import TokenType

REFUSED_CLAUSES: Mapping[TokenType, str] = {
    TokenType.ORDER_BY: "a stream has no end to sort at; leave it out, or take the first rows of each group: "
    "row_number() over (partition by ... order by ...) in a subquery, and its number <= n outside",
    TokenType.LIMIT: "a stream has no first rows; take the first of each group by row_number() in a subquery",
    TokenType.OFFSET: "a stream has no first rows; leave it out",
    TokenType.SORT_BY: "a stream has no end to sort at; leave it out",
    TokenType.CLUSTER_BY: "rows are put together where that is needed; leave it out",
    TokenType.DISTRIBUTE_BY: "rows are put together where that is needed; leave it out",
    TokenType.LATERAL: "write the generator in the select list: explode(tags) as tag",
    TokenType.QUALIFY: "write the condition behind `where` of a query around this one",
    TokenType.WINDOW: "write the window behind `over`: row_number() over (partition by ... order by ...)",
    TokenType.EXCEPT: "rows that are in one result and not in another are known at the end only; leave it out",
    TokenType.INTERSECT: "join the two queries by their columns",
    TokenType.PIVOT: "write an aggregate for each column: sum(a) filter (where b = 'x') as x",
    TokenType.UNPIVOT: "use explode in the select list",
    TokenType.TABLE_SAMPLE: "a sample differs each time; filter by a hash of a column",
}
"""What to write instead of a clause, by the token that it begins with."""
