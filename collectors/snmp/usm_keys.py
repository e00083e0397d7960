"""Keys of the User-based Security Model: password -> key, key -> the key of one engine."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

_STRETCHED = 1 << 20
"""Bytes of the repeated password that are hashed (RFC 3414, A.2)."""


@dataclass(frozen=True, slots=True)
class AuthProtocol:
    """A hash, and how much of its HMAC stands in a message."""

    name: str
    hash: str
    tag_bytes: int


AUTH_PROTOCOLS = {
    "MD5": AuthProtocol("MD5", "md5", 12),
    "SHA": AuthProtocol("SHA", "sha1", 12),
    "SHA-224": AuthProtocol("SHA-224", "sha224", 16),
    "SHA-256": AuthProtocol("SHA-256", "sha256", 24),
    "SHA-384": AuthProtocol("SHA-384", "sha384", 32),
    "SHA-512": AuthProtocol("SHA-512", "sha512", 48),
}
"""RFC 3414 and RFC 7860, under net-snmp's names."""


@lru_cache(maxsize=256)
def master_key(hash_name: str, password: bytes) -> bytes:
    """A megabyte of the password, hashed. Slow by design: once a password, not once a target."""
    repeated = password * (_STRETCHED // len(password) + 1)
    return _digest(hash_name, repeated[:_STRETCHED])


def localised(hash_name: str, key: bytes, engine: bytes) -> bytes:
    """The key of one engine (RFC 3414, 2.6): one that is stolen opens no other agent."""
    return _digest(hash_name, key + engine + key)


def stretched_by_hash(hash_name: str, key: bytes, size: int) -> bytes:
    """A longer key for AES-192 and AES-256 (draft-blumenthal-aes-usm-04, 3.1.2.1)."""
    while len(key) < size:
        key += _digest(hash_name, key)
    return key[:size]


def stretched_by_key(hash_name: str, key: bytes, engine: bytes, size: int) -> bytes:
    """A longer key as Cisco makes it (draft-reeder-snmpv3-usm-3desede-00, 2.1)."""
    last = key
    while len(key) < size:
        last = localised(hash_name, master_key(hash_name, last), engine)
        key += last
    return key[:size]


def _digest(hash_name: str, data: bytes) -> bytes:
    return hashlib.new(hash_name, data, usedforsecurity=False).digest()
