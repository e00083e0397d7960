"""What Slurm and Kubernetes list."""

import json
from typing import Any

from collectors.kubernetes.listing import PodsError, read_list
from collectors.placement.listing import Listing
from collectors.placement.serving import tell
from collectors.placement.told import ends_of_strangers, news
from collectors.slurm.reply import ReplyError, read_reply
from tests.collectors.kubernetes_pods import pod
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.slurm_json import reply, sacct_job, scontrol_job
from tests.fuzz.parser import Parser


def _told(listing: Listing) -> ListOutlet:
    outlet = ListOutlet()
    _, events = news({}, listing, 1, "c")
    tell(events + ends_of_strangers({held.job for held in listing.held}, listing, "c"), outlet)
    return outlet


def _slurm(raw: bytes) -> Any:
    try:
        return _told(read_reply(raw))
    except ReplyError:
        return ListOutlet()


def _kubernetes(raw: bytes) -> Any:
    try:
        return _told(read_list(raw))
    except PodsError:
        return ListOutlet()


PARSERS = (
    Parser(
        "slurm",
        tuple(
            json.dumps(reply(*jobs)).encode()
            for jobs in (
                (scontrol_job(1, "RUNNING"), scontrol_job(2, "FAILED")),
                (scontrol_job(3, "RUNNING", new=False), scontrol_job(4, "PENDING", restart_cnt=1)),
                (sacct_job(5, "COMPLETED"), sacct_job(6, "RUNNING")),
            )
        ),
        _slurm,
    ),
    Parser(
        "kubernetes",
        (json.dumps({"items": [pod("a"), pod("b", phase="Failed", code=1, owner=("Job", "j"))]}).encode(),),
        _kubernetes,
    ),
)
