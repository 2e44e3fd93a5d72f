SELECT auction, bidder, price, "dateTime", extra FROM bid
QUALIFY rank() OVER (PARTITION BY ten_seconds("dateTime") ORDER BY price DESC) = 1
