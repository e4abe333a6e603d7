"""What an error of librdkafka means for a delivery: this message, never; all of them, not like this; or later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.errors import SinkError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

#: About what was sent. A broker refuses a whole batch for one message of it.
CONTENT = frozenset(
    ["MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_MSG", "INVALID_MSG_SIZE", "INVALID_RECORD"]
)

_LOGIN = "look at security.protocol and sasl.* in kafka.producer"
_TRUST = "name your authority's certificates in kafka.producer, ssl.ca.location"
_RIGHTS = "give the user the right to write there, or name another user in kafka.producer"
_TOPIC = "make it, or name another one in kafka.topic"
_VALUE = "look at kafka.producer"

#: Nothing that waiting could change: what to do about each.
REFUSED = {
    "_AUTHENTICATION": _LOGIN,
    "SASL_AUTHENTICATION_FAILED": _LOGIN,
    "UNSUPPORTED_SASL_MECHANISM": _LOGIN,
    "ILLEGAL_SASL_STATE": _LOGIN,
    "SECURITY_DISABLED": _LOGIN,
    "_SSL": _TRUST,
    "TOPIC_AUTHORIZATION_FAILED": _RIGHTS,
    "CLUSTER_AUTHORIZATION_FAILED": _RIGHTS,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": _RIGHTS,
    "UNKNOWN_TOPIC_OR_PART": _TOPIC,
    "_UNKNOWN_TOPIC": _TOPIC,
    "TOPIC_EXCEPTION": _TOPIC,
    "INVALID_REQUIRED_ACKS": _VALUE,
    "INVALID_CONFIG": _VALUE,
    "POLICY_VIOLATION": _VALUE,
    "UNSUPPORTED_VERSION": _VALUE,
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": _VALUE,
    "UNSUPPORTED_COMPRESSION_TYPE": _VALUE,
    "_INVALID_ARG": _VALUE,
    "_UNSUPPORTED_FEATURE": _VALUE,
}


def is_content(error: KafkaError) -> bool:
    """Say whether the error is about what was sent."""
    return error.name() in CONTENT


def is_missing(error: KafkaError) -> bool:
    """Say whether there is no such topic, or not yet."""
    return error.name() in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "LEADER_NOT_AVAILABLE")


def is_moving(error: KafkaError) -> bool:
    """Say whether the coordinator of a group is just being chosen, is another one by now, or loads: it is ready soon."""
    return error.name() in ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS")


def is_refused(error: KafkaError) -> bool:
    """Say whether the error stays however often we try."""
    return error.name() in REFUSED


def sink_error(error: KafkaError, where: str, cause: KafkaError | None = None) -> SinkError:
    """Return the error of a delivery that ended with ``error``; ``cause`` is what the client said of the connection."""
    told = cause if cause is not None and not is_refused(error) else error
    words = _words(told)
    if is_refused(told):
        return SinkError(words, where=where, now=REFUSED[told.name()])
    return SinkError(words, where=where, now="send it again later", retryable=True)


def _words(error: KafkaError) -> str:
    return f"{error.str()} ({error.name()})"
