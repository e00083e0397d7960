"""SNMP: answers of both versions down to the scrape, and the text of walks."""

from collections.abc import Hashable, Mapping
from functools import cache

from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.fabric.series import Site
from collectors.snmp.agent import Security
from collectors.snmp.ber import BerError
from collectors.snmp.community import Community
from collectors.snmp.fill import fill
from collectors.snmp.layout import Layout, columns_to_learn, learn
from collectors.snmp.message import ident
from collectors.snmp.pdu import FIRST_ID, get_bulk
from collectors.snmp.plan import plan
from collectors.snmp.presets import presets
from collectors.snmp.recorded import read_walked
from collectors.snmp.reports import Reported
from collectors.snmp.tables import gathered
from collectors.snmp.usm import User, Usm
from collectors.snmp.usm_cipher import PRIV_PROTOCOLS
from collectors.snmp.usm_keys import AUTH_PROTOCOLS
from collectors.snmp.value import read_varbinds
from collectors.snmp.walk_text import read_walk
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.snmp_agent import Agent, UserAgent, switch
from tests.collectors.snmp_walks import SWITCH, VALUES
from tests.fuzz.parser import Parser

_TABLES = switch(2, priorities=2)
_USERS = {
    "v3": User("reader"),
    "v3-encrypted": User("reader", AUTH_PROTOCOLS["SHA"], "authentic", PRIV_PROTOCOLS["AES"], "private!!"),
}


@cache
def _layout() -> Layout:
    preset = presets(None)["mellanox"]
    wire = b"".join(_wire())
    return learn(
        gathered(read_varbinds(wire, 0, len(wire)), columns_to_learn(preset)), preset, site=Site(), interval_us=0
    )


@cache
def _wire() -> tuple[bytes, ...]:
    """Everything that the agent has, as lists of varbinds."""
    agent, out = Agent(_TABLES, most=10_000), []
    for column in columns_to_learn(presets(None)["mellanox"]):
        asked = Community(b"").wrap(get_bulk([column], 40), FIRST_ID)
        answer = Community(b"").unwrap(agent.answer(asked)[0])
        out.append(answer.raw[answer.start : answer.stop])
    return tuple(out)


def _read(raw: bytes, security: Security) -> ListOutlet:
    """From a datagram to what is published of it."""
    outlet, layout = ListOutlet(), _layout()
    for cell in layout.cells.values():
        cell.value, cell.stamp = None, (0, 0)
    try:
        ident(raw)
        answer = security.unwrap(raw)
        if answer.error is None:
            fill(answer.raw, answer.start, answer.stop, layout.cells, (1, 1), lambda v: layout.take(v, (1, 1)))
    except BerError as why:
        outlet.reject("snmp:10.0.0.1:161", raw, str(why))
        return outlet
    except Reported as why:
        outlet.reject("snmp:10.0.0.1:161", b"", str(why))
        return outlet
    outlet.publish(FABRIC_SCRAPES, layout.grid.cut("leaf1", 1, cluster="c"))
    return outlet


def _walk(raw: bytes) -> ListOutlet:
    outlet = ListOutlet()
    varbinds, bad = read_walk(raw.decode("utf-8", "surrogateescape"))
    for line in bad:
        outlet.reject("snmp:file", line.text.encode("utf-8", "surrogateescape"), line.why)
    scrape, links = read_walked(
        varbinds, presets(None)["standard"], device=None, otherwise="file", ts_us=1_700_000_000_000_000
    )
    outlet.publish(FABRIC_SCRAPES, scrape)
    for link in links:
        outlet.publish(FABRIC_LINKS, link)
    return outlet


def _numbers(outlet: ListOutlet) -> Mapping[Hashable, float | None]:
    """By port, column and width: of a walk that ends before the wide twin, the narrow one stands in the column."""
    return {
        (port.name, column, scrape.forms[column].bits if column in scrape.forms else 64): value
        for scrape in outlet.of(FABRIC_SCRAPES)
        for column, values in scrape.columns.items()
        for port, value in zip(scrape.ports, values, strict=True)
    }


def _met(user: User, agent: UserAgent) -> Usm:
    """A reader that knows the engine, whose clock stands."""
    usm = Usm(user, clock=lambda: 0.0)
    try:
        usm.unwrap(agent.answer(usm.hello(FIRST_ID))[0])
    except Reported:
        assert usm.ready
    return usm


def _answers(security: Security, agent: Agent) -> tuple[bytes, ...]:
    asked = plan(_layout(), 30, slow=False)[1:5]
    return tuple(agent.answer(security.wrap(one.request, FIRST_ID + n))[0] for n, one in enumerate(asked))


def _of_user(name: str, user: User) -> Parser:
    agent = UserAgent(_TABLES, user=user)
    hello = agent.answer(Usm(user).hello(FIRST_ID))[0]
    seeds = _answers(_met(user, agent), agent)

    def parse(raw: bytes) -> ListOutlet:
        # What a reader heard before decides what it takes.
        return _read(raw, _met(user, agent))

    return Parser(f"snmp-{name}", (*seeds, hello), parse)


PARSERS = (
    Parser(
        "snmp-v2c",
        _answers(Community(b"public"), Agent(_TABLES)),
        lambda raw: _read(raw, Community(b"public")),
        _numbers,
    ),
    *(_of_user(name, user) for name, user in _USERS.items()),
    Parser("snmp-walk", (SWITCH.encode(),), _walk, _numbers),
    Parser("snmp-walk-values", (VALUES.encode(),), lambda raw: read_walk(raw.decode("utf-8", "surrogateescape"))),
)
