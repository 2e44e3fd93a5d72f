select auction, bidder, price, channel, url, `dateTime`, extra
from (
  select *, row_number() over (partition by bidder, auction order by `dateTime` desc, price desc, extra) as place from bid
)
where place <= 1
