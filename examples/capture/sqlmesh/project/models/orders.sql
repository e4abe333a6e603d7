MODEL (
  name raw.orders,
  kind SEED (path '../seeds/orders.csv'),
  columns (order_id INTEGER, customer_id INTEGER, ordered_at DATE, amount DOUBLE)
);
