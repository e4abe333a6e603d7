-- A singular test: order 119 costs less than nothing, so it fails.
select order_id, amount from {{ ref('stg_orders') }} where amount < 0
