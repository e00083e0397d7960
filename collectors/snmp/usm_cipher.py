"""Privacy of the User-based Security Model: what a message's scoped PDU is encrypted with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from collectors.snmp.ber import BerError
from collectors.snmp.usm_keys import localised, stretched_by_hash, stretched_by_key

SALT_BYTES = 8


@dataclass(frozen=True, slots=True)
class PrivProtocol:
    """A cipher, its key's length, and how a hash that is too short is made longer."""

    name: str
    key_bytes: int
    stretch: str = ""


PRIV_PROTOCOLS = {
    "DES": PrivProtocol("DES", 16),
    "AES": PrivProtocol("AES", 16),
    "AES-192": PrivProtocol("AES-192", 24, "hash"),
    "AES-256": PrivProtocol("AES-256", 32, "hash"),
    "AES-192-C": PrivProtocol("AES-192-C", 24, "key"),
    "AES-256-C": PrivProtocol("AES-256-C", 32, "key"),
}
"""RFC 3414 and RFC 3826; the longer ones are drafts in two dialects, under net-snmp's names (C: Cisco's)."""


def privacy_key(protocol: PrivProtocol, hash_name: str, master: bytes, engine: bytes) -> bytes:
    """The cipher's key for one engine."""
    key = localised(hash_name, master, engine)
    if protocol.stretch == "key":
        return stretched_by_key(hash_name, key, engine, protocol.key_bytes)
    return stretched_by_hash(hash_name, key, protocol.key_bytes)


class Privacy:
    """Encrypts for one engine and decrypts what it sends."""

    def __init__(self, protocol: PrivProtocol, key: bytes, first_salt: int) -> None:
        from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
        from cryptography.hazmat.decrepit.ciphers.modes import CFB
        from cryptography.hazmat.primitives.ciphers import Cipher, modes
        from cryptography.hazmat.primitives.ciphers.algorithms import AES

        self._salt = first_salt
        self._des = protocol.name == "DES"
        self._cipher: Callable[[bytes], Any]
        if self._des:
            # One key three times over is DES.
            des, self._before_iv = TripleDES(key[:8] * 3), key[8:16]
            self._cipher = lambda iv: Cipher(des, modes.CBC(iv))
        else:
            aes = AES(key)
            self._cipher = lambda iv: Cipher(aes, CFB(iv))

    def encrypt(self, plain: bytes, boots: int, time_s: int) -> tuple[bytes, bytes]:
        """The encrypted bytes, and the salt that goes with them. No salt is used twice (RFC 3826, 3.1.2.1)."""
        self._salt = (self._salt + 1) & 0xFFFF_FFFF_FFFF_FFFF
        if self._des:
            salt = (boots & 0xFFFF_FFFF).to_bytes(4) + (self._salt & 0xFFFF_FFFF).to_bytes(4)
            plain += bytes(-len(plain) % 8)
        else:
            salt = self._salt.to_bytes(8)
        return self._cipher(self._iv(salt, boots, time_s)).encryptor().update(plain), salt

    def decrypt(self, held: bytes, salt: bytes, boots: int, time_s: int) -> bytes:
        """Raises `BerError` where salt or length cannot be; a wrong key gives bytes that are no PDU."""
        if len(salt) != SALT_BYTES or (self._des and len(held) % 8):
            raise BerError("encrypted bytes of a length that cannot be")
        plain: bytes = self._cipher(self._iv(salt, boots, time_s)).decryptor().update(held)
        return plain

    def _iv(self, salt: bytes, boots: int, time_s: int) -> bytes:
        if self._des:
            return bytes(a ^ b for a, b in zip(self._before_iv, salt, strict=True))
        return (boots & 0xFFFF_FFFF).to_bytes(4) + (time_s & 0xFFFF_FFFF).to_bytes(4) + salt
