select customer, sum(amount) as revenue, count(*) as orders
from {{ source('mart', 'orders') }}
group by customer
