SELECT auction, bidder, price, "dateTime", value FROM bid JOIN side ON key = mod(auction, 10_000)
