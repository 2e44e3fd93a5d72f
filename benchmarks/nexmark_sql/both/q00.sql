select auction, bidder, price, `dateTime`, extra from bid
