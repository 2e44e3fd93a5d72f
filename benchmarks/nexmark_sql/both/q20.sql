select
  b.auction, b.bidder, b.price, b.channel, b.url, b.`dateTime` as bid_dateTime, b.extra as bid_extra,
  a.itemName, a.description, a.initialBid, a.reserve, a.`dateTime` as auction_dateTime, a.expires, a.seller, a.category,
  a.extra as auction_extra
from bid as b
join auction as a on b.auction = a.id
where a.category = 10
