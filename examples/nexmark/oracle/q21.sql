WITH numbered AS (
  SELECT auction, bidder, price, channel,
         coalesce((MAP {'apple': '0', 'google': '1', 'facebook': '2', 'baidu': '3'})[lower(channel)],
                  list_first([substr(part, 12) FOR part IN string_split(url, '&') IF part LIKE 'channel_id=_%']))
           AS channel_id
  FROM bid
)
SELECT * FROM numbered WHERE channel_id IS NOT NULL
