WITH breaks AS (
  SELECT bidder, "dateTime" AS moment,
         coalesce(moment - lag(moment) OVER previous >= INTERVAL 10 SECONDS, true) AS opens
  FROM bid WINDOW previous AS (PARTITION BY bidder ORDER BY "dateTime")
), numbered AS (
  SELECT bidder, moment, count(*) FILTER (opens) OVER (PARTITION BY bidder ORDER BY moment) AS session
  FROM breaks
)
SELECT bidder, count(*) AS bid_count, min(moment) AS starttime, max(moment) + INTERVAL 10 SECONDS AS endtime
FROM numbered GROUP BY bidder, session
