SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, "dateTime", bidder, extra) AS rank_number
FROM bid QUALIFY rank_number BETWEEN 1 AND 10
