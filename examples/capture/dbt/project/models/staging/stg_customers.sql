select
    customer_id,
    name,
    md5(email) as email_hash,
    country as country_code,
    signed_up
from {{ source('raw', 'customers') }}
