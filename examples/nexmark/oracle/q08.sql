SELECT id, name, ten_seconds("dateTime") AS starttime
FROM person SEMI JOIN (SELECT seller, ten_seconds("dateTime") AS opened FROM auction) AS sales
  ON seller = id AND opened = ten_seconds("dateTime")
