SELECT category AS id, avg(price) AS final FROM valid_bid WHERE place = 1 GROUP BY category
