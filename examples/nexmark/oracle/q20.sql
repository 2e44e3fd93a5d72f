SELECT bid.auction, bidder, price, channel, url, bid."dateTime" AS "bid_dateTime", bid.extra AS bid_extra,
       "itemName", description, "initialBid", reserve, auction."dateTime" AS "auction_dateTime", expires, seller, category,
       auction.extra AS auction_extra
FROM auction JOIN bid ON bid.auction = id WHERE category = 10
