SELECT * FROM bid
QUALIFY row_number() OVER (PARTITION BY auction, bidder ORDER BY "dateTime" DESC, price DESC, extra) = 1
