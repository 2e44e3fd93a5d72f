select
  id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, category, extra,
  auction, bidder, price, bid_dateTime, bid_extra
from (
  select
    a.*, b.auction, b.bidder, b.price, b.`dateTime` as bid_dateTime, b.extra as bid_extra,
    row_number() over (partition by a.id order by b.price desc, b.`dateTime`, b.bidder, b.extra) as place
  from auction as a
  join bid as b on a.id = b.auction
  where b.`dateTime` between a.`dateTime` and a.expires
)
where place <= 1
