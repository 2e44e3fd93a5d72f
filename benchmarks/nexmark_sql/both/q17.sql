select
  auction, date_format(`dateTime`, 'yyyy-MM-dd') as `day`,
  count(*) as total_bids,
  count(*) filter (where price < 10000) as rank1_bids,
  count(*) filter (where price >= 10000 and price < 1000000) as rank2_bids,
  count(*) filter (where price >= 1000000) as rank3_bids,
  min(price) as min_price, max(price) as max_price, avg(cast(price as double)) as avg_price, sum(price) as sum_price
from bid
group by auction, date_format(`dateTime`, 'yyyy-MM-dd')
