SELECT name, city, state, auction.id
FROM person JOIN auction ON seller = person.id
WHERE category = 10 AND list_contains(['CA', 'ID', 'OR'], state)
