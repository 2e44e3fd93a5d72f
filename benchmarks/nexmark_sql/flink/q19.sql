select *
from (
  select *, row_number() over (partition by auction order by price desc, `dateTime`, bidder, extra) as rank_number from bid
)
where rank_number <= 10
