import ssl

import pytest

from collectors.contract.settings import SettingError
from streams.security import security


def test_no_properties_are_plain_text() -> None:
    s = security({})
    assert (s.protocol, s.mechanism, s.context) == ("PLAINTEXT", None, None)
    assert s.faust() is None
    assert s.aiokafka() == {"security_protocol": "PLAINTEXT", "ssl_context": None}


def test_sasl_over_tls_becomes_credentials_of_both_clients() -> None:
    s = security(
        {
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.username": "lock",
            "sasl.password": "step",
        }
    )
    told = s.aiokafka()
    assert (told["sasl_mechanism"], told["sasl_plain_username"]) == ("SCRAM-SHA-512", "lock")
    assert isinstance(told["ssl_context"], ssl.SSLContext)
    assert told["ssl_context"].check_hostname
    assert s.faust().username == "lock"


def test_a_user_who_turns_name_checks_off_gets_that() -> None:
    s = security({"security.protocol": "ssl", "ssl.endpoint.identification.algorithm": "none"})
    assert s.context is not None
    assert (s.context.check_hostname, s.context.verify_mode) == (False, ssl.CERT_REQUIRED)


@pytest.mark.parametrize(
    "properties",
    [
        {"security.protocol": "kerberos"},
        {"security.protocol": "sasl_ssl", "sasl.mechanism": "GSSAPI"},
        {"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER"},
        {"security.protocol": "ssl", "ssl.ca.location": "/nowhere/ca.pem"},
        {"security.protocol": "ssl", "ssl.keystore.location": "/a.p12"},
    ],
)
def test_what_cannot_be_done_is_said_rather_than_done_with_less_security(properties: dict[str, str]) -> None:
    with pytest.raises(SettingError, match="LOCKSTEP_KAFKA_CONFIG"):
        security(properties)


def test_tuning_of_librdkafka_is_left_aside() -> None:
    assert security({"linger.ms": "5"}).unused == ("linger.ms",)
