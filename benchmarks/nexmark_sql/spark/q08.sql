select p.id, p.name, p.w.start as starttime
from (select id, name, window(dateTime, '10 seconds') as w, count(*) from person group by id, name, w) as p
join (select seller, window(dateTime, '10 seconds') as w, count(*) from auction group by seller, w) as a
  on p.id = a.seller and p.w = a.w
