select
  bidder, count(*) as bid_count,
  session_window.start as starttime, session_window.end + interval '1' millisecond as endtime
from bid
group by bidder, session_window(dateTime, '9999 milliseconds')
