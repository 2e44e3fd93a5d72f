select bidder, count(*) as bid_count, window_start as starttime, window_end + interval '0.001' second as endtime
from session(table bid partition by bidder, descriptor(`dateTime`), interval '9.999' second)
group by bidder, window_start, window_end
