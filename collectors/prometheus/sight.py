"""What a server has of the past, for `lockstep collect check`."""

import argparse

import aiohttp

from collectors.dcgm.access import Access
from collectors.prometheus.api import Api, Http
from collectors.prometheus.job import asked_of, plan_of
from collectors.source import Sight, SourceError

TIMEOUT_S = 3.0
"""For each of the few queries of a check."""


async def sights(args: argparse.Namespace) -> list[Sight]:
    """One line. Raises `SourceError` for the options."""
    asked, access = asked_of(args), Access(args)
    async with aiohttp.ClientSession() as session:
        api = Api(Http(args.url, access, session, min(TIMEOUT_S, args.timeout)).fetch)
        try:
            plan = await plan_of(api, args, asked)
        except SourceError as why:
            return [Sight(asked.url, False, "nothing", str(why), "mend what the message names")]
    hosts = len(plan.hosts) - ("" in plan.hosts)
    sees = f"{len(plan.names)} metrics of {hosts or 'an unknown number of'} nodes, a scrape every {plan.step_s:g} s"
    return [Sight(asked.url, True, f"{sees}; {plan.rounds} rounds of {plan.end - plan.first:,} steps")]
