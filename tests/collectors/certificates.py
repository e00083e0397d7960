"""Certificates for tests, made anew each time: a CA, `switch.example` and a client."""

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_PEM = serialization.Encoding.PEM


class Certificates:
    """PEM bytes, also as files under `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ca_key = ec.generate_private_key(ec.SECP256R1())
        self._ca_name = _name("test CA")
        self.ca = self._sign("test CA", self._ca_key, is_ca=True)
        (folder / "ca.pem").write_bytes(self.ca)
        self._made: dict[str, tuple[bytes, bytes]] = {}

    def cert(self, name: str) -> bytes:
        """Certificate of `NAME.example`."""
        return self._pair(name)[0]

    def key(self, name: str) -> bytes:
        """Private key of `NAME.example`."""
        return self._pair(name)[1]

    def _pair(self, name: str) -> tuple[bytes, bytes]:
        if name not in self._made:
            key = ec.generate_private_key(ec.SECP256R1())
            pem = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
            self._made[name] = (self._sign(f"{name}.example", key, is_ca=False), pem)
        return self._made[name]

    def _sign(self, name: str, key: ec.EllipticCurvePrivateKey, *, is_ca: bool) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        built = (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(self._ca_name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name.replace(" ", "-"))]), critical=False)
        )
        return built.sign(self._ca_key, hashes.SHA256()).public_bytes(_PEM)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
