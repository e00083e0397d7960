"""Hostlists become hosts, as Slurm's own tool writes them out."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.discovery.hostlist import HostlistError, expand


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("gpu1", ["gpu1"]),
        ("gpu[001-003,200]", ["gpu001", "gpu002", "gpu003", "gpu200"]),
        ("gpu[1-3]", ["gpu1", "gpu2", "gpu3"]),
        ("gpu[9-11]", ["gpu9", "gpu10", "gpu11"]),
        ("gpu[08-11]", ["gpu08", "gpu09", "gpu10", "gpu11"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("a,b[2-3]-ib,c.example.org", ["a", "b2-ib", "b3-ib", "c.example.org"]),
        ("a1 a2\nb[1,3]", ["a1", "a2", "b1", "b3"]),
        ("rack[1,3]-gpu[0-1].dc1", ["rack1-gpu0.dc1", "rack1-gpu1.dc1", "rack3-gpu0.dc1", "rack3-gpu1.dc1"]),
        ("n[ 1 , 3-4 ]", ["n1", "n3", "n4"]),
        ("", []),
        (",,", []),
    ],
)
def test_a_hostlist_is_written_out_in_its_order(text: str, hosts: list[str]) -> None:
    assert expand(text, 100) == hosts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("gpu[1-3", "gpu[1-3: a bracket is not closed"),
        ("gpu1-3]", "gpu1-3]: brackets that do not match"),
        ("gpu[[1]]", "gpu[[1]]: brackets that do not match"),
        ("gpu[3-1]", "gpu[3-1]: the range 3-1 runs backwards"),
        ("gpu[a-c]", "gpu[a-c]: 'a-c' is no number and no range such as 001-128"),
        ("gpu[]", "gpu[]: '' is no number and no range such as 001-128"),
        ("bgl[000x733]", "bgl[000x733]: '000x733' is no number and no range such as 001-128"),
        ("(null)", "(null): not the name of a host"),
        ("gpu[1-200]", "gpu[1-200]: more than 100 hosts"),
        ("a[1-60],b[1-60]", "b[1-60]: more than 100 hosts"),
        ("a[1-99]b[1-99]", "a[1-99]b[1-99]: more than 100 hosts"),
    ],
)
def test_what_is_no_hostlist_is_said(text: str, why: str) -> None:
    with pytest.raises(HostlistError) as failure:
        expand(text, 100)
    assert str(failure.value) == why


def test_a_range_without_end_is_never_written_out() -> None:
    began_s = time.process_time()
    with pytest.raises(HostlistError, match="more than 1000 hosts"):
        expand("gpu[0-999999999999999999]" * 20, 1000)
    assert time.process_time() - began_s < 1.0


@given(st.text("gpu[]-,0123456789 .x", max_size=30))
def test_any_text_is_hosts_within_the_limit_or_an_error(text: str) -> None:
    try:
        hosts = expand(text, 50)
    except HostlistError as why:
        assert str(why)
        return
    assert len(hosts) <= 50
    assert not set("".join(hosts)) & set("[], ")
