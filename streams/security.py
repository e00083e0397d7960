"""librdkafka's names for SASL and TLS, translated for aiokafka and Faust."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from collectors.contract.settings import SettingError

_UNDERSTOOD = {
    "security.protocol",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.username",
    "sasl.password",
    "sasl.kerberos.service.name",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification",
}


@dataclass(frozen=True, slots=True)
class Security:
    """What both clients need. `unused` are properties that only librdkafka knows; they change no security."""

    protocol: str
    mechanism: str | None
    username: str | None
    password: str | None
    context: ssl.SSLContext | None
    unused: tuple[str, ...]

    def aiokafka(self) -> dict[str, Any]:
        """Keyword arguments of an aiokafka client."""
        out: dict[str, Any] = {"security_protocol": self.protocol, "ssl_context": self.context}
        if self.mechanism is not None:
            out |= {
                "sasl_mechanism": self.mechanism,
                "sasl_plain_username": self.username,
                "sasl_plain_password": self.password,
            }
        return out

    def faust(self) -> Any:
        """Faust's broker credentials; None: plain text without a name."""
        import faust

        if self.mechanism is not None:
            return faust.SASLCredentials(
                username=self.username,
                password=self.password,
                mechanism=self.mechanism,
                ssl_context=self.context,
            )
        return faust.SSLCredentials(self.context) if self.context is not None else None


def security(properties: Mapping[str, str]) -> Security:
    """Raises `SettingError` on what aiokafka cannot do, rather than connect with less security."""
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"):
        raise SettingError(
            f"LOCKSTEP_KAFKA_CONFIG: security.protocol={protocol}: write plaintext, ssl, sasl_plaintext or sasl_ssl"
        )
    mechanism = None
    if protocol.startswith("SASL"):
        mechanism = (properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "").upper()
        if mechanism not in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
            raise SettingError(
                f"LOCKSTEP_KAFKA_CONFIG: sasl.mechanism={mechanism or '(none)'}: the stream app can use "
                "PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512"
            )
    other = tuple(
        sorted(p for p in properties if p.startswith(("ssl.", "sasl.", "security.")) and p not in _UNDERSTOOD)
    )
    if other:
        raise SettingError(
            f"LOCKSTEP_KAFKA_CONFIG: {', '.join(other)}: not understood by the stream app; leave it out or say "
            "the same with security.protocol, sasl.* and ssl.*.location"
        )
    return Security(
        protocol,
        mechanism,
        properties.get("sasl.username"),
        properties.get("sasl.password"),
        _context(properties) if protocol.endswith("SSL") else None,
        tuple(sorted(set(properties) - _UNDERSTOOD)),
    )


def _context(properties: Mapping[str, str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=properties.get("ssl.ca.location"))
        if "ssl.certificate.location" in properties:
            context.load_cert_chain(
                properties["ssl.certificate.location"],
                properties.get("ssl.key.location"),
                properties.get("ssl.key.password"),
            )
    except (OSError, ssl.SSLError) as why:
        raise SettingError(f"LOCKSTEP_KAFKA_CONFIG: TLS files: {why}") from why
    # librdkafka's default is to check the name; an explicit `none` is the user's wish.
    if properties.get("ssl.endpoint.identification.algorithm", "https").lower() in ("none", ""):
        context.check_hostname = False
    if properties.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
