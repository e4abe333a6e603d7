-- Fails when it runs: a note is no number. The run must have a model that fails.
select
    order_id,
    cast(note as integer) as refund_cents
from {{ ref('stg_orders') }}
