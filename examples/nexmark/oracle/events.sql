-- The three kinds of events as tables.
CREATE MACRO ten_seconds(moment) AS time_bucket(INTERVAL 10 SECONDS, moment);
CREATE MACRO day_of(moment) AS strftime(moment, '%Y-%m-%d');
CREATE MACRO euros(cents) AS CAST(cents * 0.908 AS DECIMAL(23, 3));

CREATE VIEW event AS FROM read_json('{events}', format = 'newline_delimited', columns = {{
  person: 'STRUCT(id BIGINT, name VARCHAR, "emailAddress" VARCHAR, "creditCard" VARCHAR, city VARCHAR, state VARCHAR,
                  "dateTime" TIMESTAMP, extra VARCHAR)',
  auction: 'STRUCT(id BIGINT, "itemName" VARCHAR, description VARCHAR, "initialBid" BIGINT, reserve BIGINT,
                   "dateTime" TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra VARCHAR)',
  bid: 'STRUCT(auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, "dateTime" TIMESTAMP,
               extra VARCHAR)'
}});
CREATE TABLE person AS SELECT unnest(person) FROM event WHERE person IS NOT NULL;
CREATE TABLE auction AS SELECT unnest(auction) FROM event WHERE auction IS NOT NULL;
CREATE TABLE bid AS SELECT unnest(bid) FROM event WHERE bid IS NOT NULL;
CREATE TABLE side AS FROM read_json('{side}', columns = {{key: 'BIGINT', value: 'VARCHAR'}});

-- Of each bid its day, its minute, and whether it is cheap, middling or dear.
CREATE VIEW graded_bid AS
SELECT bid.*, day_of("dateTime") AS day, strftime("dateTime", '%H:%M') AS minute,
       price < 10_000 AS cheap, price BETWEEN 10_000 AND 999_999 AS middling, price >= 1_000_000 AS dear
FROM bid;

-- The bids that came while their auctions were open, the best of each auction first.
CREATE VIEW valid_bid AS
SELECT auction.*, bid.auction, bidder, price, bid."dateTime" AS bid_time, bid.extra AS bid_extra,
       row_number() OVER (PARTITION BY id ORDER BY price DESC, bid."dateTime", bidder, bid.extra) AS place
FROM auction JOIN bid ON bid.auction = id AND bid."dateTime" >= auction."dateTime" AND bid."dateTime" <= expires;
