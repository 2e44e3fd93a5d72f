select
  channel, date_format(`dateTime`, 'yyyy-MM-dd') as `day`, max(date_format(`dateTime`, 'HH:mm')) as `minute`,
  count(*) as total_bids,
  count(*) filter (where price < 10000) as rank1_bids,
  count(*) filter (where price >= 10000 and price < 1000000) as rank2_bids,
  count(*) filter (where price >= 1000000) as rank3_bids,
  count(distinct bidder) as total_bidders,
  count(distinct bidder) filter (where price < 10000) as rank1_bidders,
  count(distinct bidder) filter (where price >= 10000 and price < 1000000) as rank2_bidders,
  count(distinct bidder) filter (where price >= 1000000) as rank3_bidders,
  count(distinct auction) as total_auctions,
  count(distinct auction) filter (where price < 10000) as rank1_auctions,
  count(distinct auction) filter (where price >= 10000 and price < 1000000) as rank2_auctions,
  count(distinct auction) filter (where price >= 1000000) as rank3_auctions
from bid
group by channel, date_format(`dateTime`, 'yyyy-MM-dd')
