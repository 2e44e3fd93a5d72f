select b.auction, b.bidder, b.price, b.`dateTime`, b.extra
from bid as b
join (
  select max(price) as price, window_time as `dateTime`
  from tumble(table bid, descriptor(`dateTime`), interval '10' second)
  group by window_start, window_end, window_time
) as most
  on b.price = most.price
where b.`dateTime` between most.`dateTime` - interval '9.999' second and most.`dateTime`
