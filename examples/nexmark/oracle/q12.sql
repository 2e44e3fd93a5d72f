-- by the time of processing: the counts of a bidder over all windows add up to this
SELECT bidder, count(*) AS bid_count FROM bid GROUP BY bidder;
