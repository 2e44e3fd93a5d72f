select p.id, p.name, p.starttime
from (
  select id, name, window_start as starttime, window_end as endtime
  from tumble(table person, descriptor(`dateTime`), interval '10' second)
  group by id, name, window_start, window_end
) as p
join (
  select seller, window_start as starttime, window_end as endtime
  from tumble(table auction, descriptor(`dateTime`), interval '10' second)
  group by seller, window_start, window_end
) as a
  on p.id = a.seller and p.starttime = a.starttime and p.endtime = a.endtime
