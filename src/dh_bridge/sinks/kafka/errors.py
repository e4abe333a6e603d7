"""Classifies errors of librdkafka.

A permanent error of one message, a permanent error of the connection, or a temporary one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.errors import SinkError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

#: Errors of one message. A broker rejects the whole batch because of it.
CONTENT_ERRORS = frozenset(
    ["MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_MSG", "INVALID_MSG_SIZE", "INVALID_RECORD"]
)

_LOGIN_REMEDY = "check security.protocol and sasl.* in kafka.producer"
_TRUST_REMEDY = "set ssl.ca.location in kafka.producer to the certificates of your authority (CA)"
_RIGHTS_REMEDY = "grant the user the permission to write there, or set another user in kafka.producer"
_TOPIC_REMEDY = "create the topic, or set another one in kafka.topic"
_VALUE_REMEDY = "check kafka.producer"

#: Permanent errors: code -> what to do.
REMEDIES = {
    "_AUTHENTICATION": _LOGIN_REMEDY,
    "SASL_AUTHENTICATION_FAILED": _LOGIN_REMEDY,
    "UNSUPPORTED_SASL_MECHANISM": _LOGIN_REMEDY,
    "ILLEGAL_SASL_STATE": _LOGIN_REMEDY,
    "SECURITY_DISABLED": _LOGIN_REMEDY,
    "_SSL": _TRUST_REMEDY,
    "TOPIC_AUTHORIZATION_FAILED": _RIGHTS_REMEDY,
    "CLUSTER_AUTHORIZATION_FAILED": _RIGHTS_REMEDY,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": _RIGHTS_REMEDY,
    "UNKNOWN_TOPIC_OR_PART": _TOPIC_REMEDY,
    "_UNKNOWN_TOPIC": _TOPIC_REMEDY,
    "TOPIC_EXCEPTION": _TOPIC_REMEDY,
    "INVALID_REQUIRED_ACKS": _VALUE_REMEDY,
    "INVALID_CONFIG": _VALUE_REMEDY,
    "POLICY_VIOLATION": _VALUE_REMEDY,
    "UNSUPPORTED_VERSION": _VALUE_REMEDY,
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": _VALUE_REMEDY,
    "UNSUPPORTED_COMPRESSION_TYPE": _VALUE_REMEDY,
    "_INVALID_ARG": _VALUE_REMEDY,
    "_UNSUPPORTED_FEATURE": _VALUE_REMEDY,
}


def is_content_error(error: KafkaError) -> bool:
    """Return whether the error is about the message."""
    return error.name() in CONTENT_ERRORS


def is_topic_missing(error: KafkaError) -> bool:
    """Return whether the topic does not exist, or not yet."""
    return error.name() in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "LEADER_NOT_AVAILABLE")


def is_coordinator_moving(error: KafkaError) -> bool:
    """Return whether the coordinator of a group is being elected, moves or loads: it is ready soon."""
    return error.name() in ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS")


def is_permanent(error: KafkaError) -> bool:
    """Return whether the error is permanent."""
    return error.name() in REMEDIES


def sink_error(error: KafkaError, location: str, cause: KafkaError | None = None) -> SinkError:
    """Return the error of a delivery that ended with ``error``; ``cause`` is the client's last error of the connection."""
    reported_error = cause if cause is not None and not is_permanent(error) else error
    text = _error_text(reported_error)
    if is_permanent(reported_error):
        return SinkError(text, location=location, remedy=REMEDIES[reported_error.name()])
    return SinkError(text, location=location, remedy="try again later", retryable=True)


def _error_text(error: KafkaError) -> str:
    return f"{error.str()} ({error.name()})"
