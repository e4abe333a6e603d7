select
    o.order_id,
    o.ordered_on,
    o.status,
    o.amount,
    c.name as customer_name,
    n.country
from {{ ref('stg_orders') }} as o
join {{ ref('stg_customers') }} as c on c.customer_id = o.customer_id
join {{ ref('countries') }} as n on n.code = c.country_code
