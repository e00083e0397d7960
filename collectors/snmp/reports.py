"""Reports: why an agent did not take a v3 message, and what a person can do about it."""

from collectors.snmp import oid

_USM = "1.3.6.1.6.3.15.1.1.{}.0"
UNKNOWN_ENGINE, NOT_IN_TIME = "unknownEngineIDs", "notInTimeWindows"
WORDS = {
    "unsupportedSecLevels": "the agent does not allow this user that security level; give --priv-protocol, or leave "
    "it out, as the agent has it",
    NOT_IN_TIME: "the agent says that our time is not its time, and said so again after it told us; its engine "
    "boots or time do not count up as they must",
    "unknownUserNames": "the agent knows no such user",
    UNKNOWN_ENGINE: "the agent does not accept its own engine id",
    "wrongDigests": "the authentication password or --auth-protocol is wrong",
    "decryptionErrors": "the privacy password or --priv-protocol is wrong",
    "unknownSecurityModels": "the agent has no user-based security: SNMPv3 is off there",
    "invalidMsgs": "the agent calls our message invalid",
    "unknownPDUHandlers": "the agent answers no requests in this context",
    "unavailableContexts": "the agent's context is not available",
    "unknownContexts": "the agent has no such context",
}
_NAMES = {
    oid.encode(_USM.format(number)): name
    for number, name in enumerate(
        ("unsupportedSecLevels", NOT_IN_TIME, "unknownUserNames", UNKNOWN_ENGINE, "wrongDigests", "decryptionErrors"),
        start=1,
    )
} | {
    oid.encode(dotted): name
    for dotted, name in (
        ("1.3.6.1.6.3.11.2.1.1.0", "unknownSecurityModels"),
        ("1.3.6.1.6.3.11.2.1.2.0", "invalidMsgs"),
        ("1.3.6.1.6.3.11.2.1.3.0", "unknownPDUHandlers"),
        ("1.3.6.1.6.3.12.1.4.0", "unavailableContexts"),
        ("1.3.6.1.6.3.12.1.5.0", "unknownContexts"),
    )
}


class Reported(Exception):
    """An agent's Report. `name` is one of `WORDS`, or the object identifier of one that is not known."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}: {WORDS.get(name, 'a report that SNMP does not name')}")
        self.name = name


def reported(name: bytes) -> Reported:
    """The Report whose first varbind has this name."""
    return Reported(_NAMES.get(name) or oid.text(name))
