select category as id, avg(cast(price as double)) as final
from (
  select id, category, max(price) as price
  from (
    select a.id, a.category, b.price
    from auction as a
    join bid as b on a.id = b.auction
    where b.`dateTime` between a.`dateTime` and a.expires
  )
  group by id, category
)
group by category
