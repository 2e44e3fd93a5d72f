WITH windows AS (
  SELECT auction, unnest(generate_series(first_end, first_end + INTERVAL 8 SECONDS, INTERVAL 2 SECONDS)) AS window_end
  FROM (SELECT auction, time_bucket(INTERVAL 2 SECONDS, "dateTime") + INTERVAL 2 SECONDS AS first_end FROM bid)
)
SELECT auction, count(*) AS num, window_end - INTERVAL 10 SECONDS AS window_start, window_end
FROM windows GROUP BY auction, window_end
QUALIFY rank() OVER (PARTITION BY window_end ORDER BY num DESC) = 1
