select b.auction, b.bidder, b.price, b.`dateTime`, s.`value`
from bid as b
join side as s on mod(b.auction, 10000) = s.`key`
