SELECT auction, bidder, euros(price) AS price, "dateTime", extra FROM bid
