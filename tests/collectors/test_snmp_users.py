"""v3: keys, envelopes, and what a Report or a forged answer leads to."""

import hashlib

import pytest
from pyasn1.type.univ import OctetString
from pysnmp.proto.secmod.rfc3414 import localkey, service

from collectors.snmp import oid
from collectors.snmp.ber import BerError
from collectors.snmp.pdu import get
from collectors.snmp.reports import Reported
from collectors.snmp.usm import User, Usm
from collectors.snmp.usm_cipher import PRIV_PROTOCOLS, Privacy, privacy_key
from collectors.snmp.usm_keys import AUTH_PROTOCOLS, localised, master_key
from tests.collectors.snmp_agent import ENGINE, UserAgent, ticks

AUTH, PRIV = "maplesyrup", "mapletaffy"
UPTIME = "1.3.6.1.2.1.1.3.0"
ASK = get([oid.encode(UPTIME)])
FIRST = 1 << 24


def user(auth: str | None = "SHA-256", priv: str | None = "AES") -> User:
    return User(
        "reader",
        AUTH_PROTOCOLS[auth] if auth else None,
        AUTH if auth else "",
        PRIV_PROTOCOLS[priv] if priv else None,
        PRIV if priv else "",
    )


def agent(of: User, **faults: object) -> UserAgent:
    return UserAgent({UPTIME: ticks(42)}, user=of, **faults)  # type: ignore[arg-type]


def meet(usm: Usm, served: UserAgent) -> None:
    with pytest.raises(Reported):
        usm.unwrap(served.answer(usm.hello(FIRST))[0])
    assert usm.ready


def talk(usm: Usm, served: UserAgent, number: int = FIRST + 1) -> bytes:
    answer = usm.unwrap(served.answer(usm.wrap(ASK, number))[0])
    assert answer.request_id == number
    return answer.raw[answer.start : answer.stop]


def test_keys_are_those_of_the_rfc() -> None:
    # RFC 3414, A.3.1 and A.3.2.
    engine = bytes.fromhex("000000000000000000000002")
    md5 = localised("md5", master_key("md5", b"maplesyrup"), engine)
    sha = localised("sha1", master_key("sha1", b"maplesyrup"), engine)
    assert (md5.hex(), sha.hex()) == (
        "526f5eed9fcce26f8964c2930787d82b",
        "6695febc9288e36282235fc7151f128497b38f3f",
    )


@pytest.mark.parametrize("name", ["SHA-224", "SHA-256", "SHA-384", "SHA-512"])
def test_keys_of_long_hashes_are_those_of_pysnmp(name: str) -> None:
    protocol = AUTH_PROTOCOLS[name]
    hasher = getattr(hashlib, protocol.hash)
    expected = localkey.localize_key(localkey.hash_passphrase(AUTH.encode(), hasher), OctetString(ENGINE), hasher)
    assert localised(protocol.hash, master_key(protocol.hash, AUTH.encode()), ENGINE) == bytes(expected)


def test_ciscos_long_key_is_that_of_pysnmp() -> None:
    theirs = service.aes256.Aes256()
    auth = (1, 3, 6, 1, 6, 3, 10, 1, 1, 3)
    expected = theirs.localize_key(auth, theirs.hash_passphrase(auth, PRIV.encode()), OctetString(ENGINE))
    ours = privacy_key(PRIV_PROTOCOLS["AES-256-C"], "sha1", master_key("sha1", PRIV.encode()), ENGINE)
    assert ours == bytes(expected)[:32]


@pytest.mark.parametrize("priv", PRIV_PROTOCOLS)
def test_every_cipher_comes_back_and_uses_no_salt_twice(priv: str) -> None:
    key = privacy_key(PRIV_PROTOCOLS[priv], "sha1", master_key("sha1", PRIV.encode()), ENGINE)
    privacy = Privacy(PRIV_PROTOCOLS[priv], key, 5)
    held = [privacy.encrypt(b"forty-two bytes of a PDU", 3, 1000) for _ in range(3)]
    assert [privacy.decrypt(data, salt, 3, 1000).rstrip(b"\0") for data, salt in held] == [
        b"forty-two bytes of a PDU"
    ] * 3
    assert len({salt for _, salt in held}) == 3


@pytest.mark.parametrize(
    ("auth", "priv"), [(None, None), ("MD5", None), ("SHA", "DES"), ("SHA-512", "AES-256"), ("SHA", "AES-256-C")]
)
def test_a_question_is_answered_at_every_level(auth: str | None, priv: str | None) -> None:
    served, usm = agent(user(auth, priv)), Usm(user(auth, priv))
    meet(usm, served)
    assert talk(usm, served).endswith(b"\x43\x01\x2a")


def test_the_agents_clock_is_followed_and_a_restart_is_told_by_a_report() -> None:
    now = [0.0]
    served, usm = agent(user()), Usm(user(), clock=lambda: now[0])
    meet(usm, served)
    now[0], served.time_s = 500.0, 1500
    talk(usm, served)
    served.boots, served.time_s = 4, 2
    with pytest.raises(Reported) as why:
        talk(usm, served)
    assert why.value.name == "notInTimeWindows"
    talk(usm, served)
    assert usm.boots == 4


def test_an_agent_whose_boots_went_back_to_zero_is_believed_when_it_answers_us() -> None:
    served, usm = agent(user()), Usm(user())
    meet(usm, served)
    talk(usm, served)
    served.boots, served.time_s = 0, 9
    with pytest.raises(Reported):
        talk(usm, served)
    assert talk(usm, served)


def test_an_engine_that_was_exchanged_is_met_anew() -> None:
    served, usm = agent(user()), Usm(user())
    meet(usm, served)
    served.engine = bytes.fromhex("80001f8880ffffffff")
    with pytest.raises(Reported) as why:
        talk(usm, served)
    assert why.value.name == "unknownEngineIDs"
    assert talk(usm, served)


@pytest.mark.parametrize(
    ("asked", "name"),
    [(user("SHA", "AES"), "wrongDigests"), (User("stranger"), "unknownUserNames")],
)
def test_a_report_says_what_is_wrong_and_what_to_do(asked: User, name: str) -> None:
    served, usm = agent(user()), Usm(asked)
    meet(usm, served)
    with pytest.raises(Reported) as why:
        talk(usm, served)
    assert why.value.name == name and len(str(why.value)) > len(name) + 10


def flipped(raw: bytes) -> list[bytes]:
    return [raw[:-1] + bytes((raw[-1] ^ 1,))]


def test_a_forged_answer_is_refused() -> None:
    served, usm = agent(user("SHA", None)), Usm(user("SHA", None))
    meet(usm, served)
    served.mangle = flipped
    with pytest.raises(BerError, match="digest"):
        talk(usm, served)


def test_an_answer_without_authentication_is_refused_where_it_was_asked_for() -> None:
    served, plain, usm = agent(user()), agent(User("reader")), Usm(user())
    meet(usm, served)
    asked = usm.wrap(ASK, FIRST + 1)
    assert served.answer(asked)
    nobody = Usm(User("reader"))
    meet(nobody, plain)
    with pytest.raises(BerError, match="another security level"):
        usm.unwrap(plain.answer(nobody.wrap(ASK, FIRST + 1))[0])


def test_an_old_answer_is_refused() -> None:
    now = [0.0]
    served, usm = agent(user()), Usm(user(), clock=lambda: now[0])
    meet(usm, served)
    old = served.answer(usm.wrap(ASK, FIRST + 1))[0]
    now[0] = 200.0
    with pytest.raises(BerError, match="ago"):
        usm.unwrap(old)


def test_passwords_are_not_shown() -> None:
    assert AUTH not in repr(user()) and PRIV not in repr(user())
