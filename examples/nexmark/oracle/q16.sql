SELECT channel, day, max(minute) AS minute, count(*) AS total_bids,
       count_if(cheap) AS rank1_bids, count_if(middling) AS rank2_bids, count_if(dear) AS rank3_bids,
       count(DISTINCT bidder) AS total_bidders,
       count(DISTINCT bidder) FILTER (cheap) AS rank1_bidders,
       count(DISTINCT bidder) FILTER (middling) AS rank2_bidders,
       count(DISTINCT bidder) FILTER (dear) AS rank3_bidders,
       count(DISTINCT auction) AS total_auctions,
       count(DISTINCT auction) FILTER (cheap) AS rank1_auctions,
       count(DISTINCT auction) FILTER (middling) AS rank2_auctions,
       count(DISTINCT auction) FILTER (dear) AS rank3_auctions
FROM graded_bid GROUP BY channel, day
