with counts as (
  select auction, count(*) as num, window_start, window_end
  from hop(table bid, descriptor(`dateTime`), interval '2' second, interval '10' second)
  group by auction, window_start, window_end
)
select c.auction, c.num, c.window_start, c.window_end
from counts as c
join (
  select max(num) as num, window_start, window_end from counts group by window_start, window_end
) as most
  on c.window_start = most.window_start and c.window_end = most.window_end and c.num = most.num
