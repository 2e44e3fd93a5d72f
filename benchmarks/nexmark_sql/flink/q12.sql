with arrivals as (select bidder, proctime() as arrived from bid)
select bidder, count(*) as bid_count, window_start as starttime, window_end as endtime
from tumble(table arrivals, descriptor(arrived), interval '10' second)
group by bidder, window_start, window_end
