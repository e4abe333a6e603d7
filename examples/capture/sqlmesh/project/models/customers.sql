MODEL (name mart.customers, kind VIEW);

SELECT o.customer_id, MAX(r.revenue) AS best_day
FROM raw.orders AS o
JOIN mart.daily_revenue AS r ON r.day = o.ordered_at
GROUP BY o.customer_id
