"""How an agent is opened: a community, or a user with passwords."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collectors.snmp.agent import Security
from collectors.snmp.community import Community
from collectors.snmp.settings import snmp_settings
from collectors.snmp.usm import User, Usm
from collectors.snmp.usm_cipher import PRIV_PROTOCOLS
from collectors.snmp.usm_keys import AUTH_PROTOCOLS
from collectors.source import SourceError

LOGIN_KEYS = (
    *("community_file", "user", "auth_protocol", "auth_password_file", "priv_protocol", "priv_password_file"),
    "context",
)
LEAST_PASSWORD = 8
"""RFC 3414, 11.2; agents refuse shorter ones."""


@dataclass(frozen=True, slots=True)
class Login:
    """v2c where there is a community, else v3."""

    community: bytes | None = field(default=None, repr=False)
    user: User | None = None

    def security(self) -> Security:
        """For one agent: an engine and its clock are its own."""
        return Usm(self.user) if self.user is not None else Community(self.community or b"")


def login(given: Mapping[str, Any], where: str) -> Login:
    """From the options named in `LOGIN_KEYS`. Raises `SourceError`; `where` stands before its words."""
    settings = snmp_settings()
    if given.get("user"):
        if given.get("community_file"):
            raise SourceError(f"{where}give a user or a community, not both")
        return Login(user=_user(given, where))
    community = _secret(given.get("community_file"), settings.community, where)
    if not community:
        raise SourceError(
            f"{where}no way to open the agent: set LOCKSTEP_SNMP_COMMUNITY, give --community-file FILE for v2c, or "
            "--user NAME for v3"
        )
    return Login(community=community.encode())


def _user(given: Mapping[str, Any], where: str) -> User:
    settings = snmp_settings()
    auth_password = _secret(given.get("auth_password_file"), settings.auth_password, where)
    priv_password = _secret(given.get("priv_password_file"), settings.priv_password, where)
    auth = _protocol(given.get("auth_protocol") or ("SHA" if auth_password else None), AUTH_PROTOCOLS, where)
    priv = _protocol(given.get("priv_protocol") or ("AES" if priv_password else None), PRIV_PROTOCOLS, where)
    for what, protocol, password, env in (
        ("authentication", auth, auth_password, "LOCKSTEP_SNMP_AUTH_PASSWORD"),
        ("privacy", priv, priv_password, "LOCKSTEP_SNMP_PRIV_PASSWORD"),
    ):
        if protocol is not None and len(password or "") < LEAST_PASSWORD:
            short = "has" if not password else f"is shorter than {LEAST_PASSWORD} characters, and has"
            raise SourceError(f"{where}the {what} password {short} to be set: {env}, or a file with it")
    if priv is not None and auth is None:
        raise SourceError(f"{where}privacy goes only with authentication: set LOCKSTEP_SNMP_AUTH_PASSWORD")
    return User(str(given["user"]), auth, auth_password or "", priv, priv_password or "", given.get("context") or "")


def _protocol(name: Any, known: Mapping[str, Any], where: str) -> Any:
    if name is None or name.lower() == "none":
        return None
    if name.upper() not in known:
        raise SourceError(f"{where}protocol {name}: there are {', '.join(known)}")
    return known[name.upper()]


def _secret(path: Any, otherwise: str | None, where: str) -> str | None:
    if path is None:
        return otherwise
    try:
        return Path(path).read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as why:
        raise SourceError(f"{where}{path}: {getattr(why, 'strerror', None) or 'not text'}") from why
