select auction, bidder, cast(0.908 * price as decimal(23, 3)) as price, `dateTime`, extra from bid
