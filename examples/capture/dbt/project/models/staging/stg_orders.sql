select
    order_id,
    customer_id,
    ordered_at,
    cast(ordered_at as date) as ordered_on,
    lower(status) as status,
    amount,
    note
from {{ source('raw', 'orders') }}
