select
    c.country_code,
    count(*) as orders,
    sum(s.amount) as revenue
from {{ ref('stg_sales') }} as s
join {{ ref('stg_customers') }} as c on c.customer_id = s.customer_id
group by c.country_code
