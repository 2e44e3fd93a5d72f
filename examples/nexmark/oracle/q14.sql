SELECT auction, bidder, euros(price) AS price,
       CASE hour("dateTime") WHEN 7 THEN 'otherTime' WHEN 19 THEN 'otherTime'
         ELSE if(hour("dateTime") IN (8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18), 'dayTime', 'nightTime') END
         AS "bidTimeType",
       "dateTime", extra, len(list_filter(string_split(extra, ''), lambda letter: letter = 'c')) AS c_counts
FROM bid WHERE euros(price) > 1_000_000 AND euros(price) < 50_000_000
