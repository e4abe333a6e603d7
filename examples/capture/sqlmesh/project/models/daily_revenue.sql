MODEL (
  name mart.daily_revenue,
  kind FULL,
  audits (not_null(columns := (day)))
);

SELECT ordered_at AS day, SUM(amount) AS revenue, COUNT(*) AS orders
FROM raw.orders
GROUP BY ordered_at
