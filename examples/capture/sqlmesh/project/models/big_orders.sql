MODEL (name mart.big_orders, kind FULL);

SELECT order_id, CAST('no number: ' || amount AS INTEGER) AS amount
FROM raw.orders
