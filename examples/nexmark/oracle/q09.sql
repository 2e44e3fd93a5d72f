SELECT * EXCLUDE (place, bid_time, bid_extra), bid_time AS "bid_dateTime", bid_extra FROM valid_bid WHERE place = 1
