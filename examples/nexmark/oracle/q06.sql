SELECT id, seller, avg(price) OVER (PARTITION BY seller ORDER BY bid_time, id ROWS 10 PRECEDING) AS avg_price
FROM valid_bid WHERE place = 1
