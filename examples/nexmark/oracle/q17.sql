SELECT auction, day, count(*) AS total_bids,
       count_if(cheap) AS rank1_bids, count_if(middling) AS rank2_bids, count_if(dear) AS rank3_bids,
       min(price) AS min_price, max(price) AS max_price, sum(price) / count(*) AS avg_price, sum(price) AS sum_price
FROM graded_bid GROUP BY auction, day
