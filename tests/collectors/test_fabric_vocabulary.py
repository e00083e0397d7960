"""The counter tables."""

from pathlib import Path

from collectors.fabric import vocabulary
from collectors.fabric.vocabulary import canonicals, counter_table, state_codes

SOURCES = Path(vocabulary.__file__).parent / "sources.csv"

SYSTEMS = tuple(row.split(",")[0] for row in SOURCES.read_text().splitlines()[1:])


def found(system: str, native: str) -> tuple[str, str | None] | None:
    row = counter_table(system).find(native)
    return None if row is None else (row.canonical, row.index)


def test_an_exact_name_is_found() -> None:
    assert found("openconfig", "/interfaces/interface/state/counters/in-octets") == ("port_rx_bytes", None)


def test_a_priority_is_taken_from_the_name() -> None:
    assert found("sonic", "SAI_PORT_STAT_PFC_3_RX_PKTS") == ("pfc_rx_frames", "3")
    assert found("ethtool_mlx5", "rx_prio5_pause") is not None
    assert found("ethtool_mlx5", "rx_prio5_pause")[1] == "5"  # type: ignore[index]


def test_a_number_beyond_the_range_is_unknown() -> None:
    assert found("sonic", "SAI_PORT_STAT_PFC_8_RX_PKTS") is None
    assert found("sonic", "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S15") == ("fec_codeword_errors_bin", "15")
    assert found("sonic", "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S16") is None


def test_an_exact_row_wins_over_a_pattern() -> None:
    assert found("openconfig", "/interfaces/interface/ethernet/state/pre-fec-ber/avg") == ("fec_pre_ber_avg", None)
    assert found("openconfig", "/interfaces/interface/ethernet/state/pre-fec-ber/interval") == ("ignored", None)


def test_a_star_stays_within_one_element() -> None:
    assert found("openconfig", "/interfaces/interface/ethernet/state/pre-fec-ber/a/b") is None


def test_a_name_of_no_row_is_unknown() -> None:
    assert found("sonic", "SAI_PORT_STAT_INVENTED") is None


def test_every_row_has_a_canonical_meaning_of_the_same_unit_and_class() -> None:
    meanings = canonicals()
    for system in SYSTEMS:
        for native, row in counter_table(system).named():
            if not row.ignored:
                meaning = meanings[row.canonical]
                assert (meaning.unit, meaning.class_) == (row.unit, row.class_), native


def test_twins_rank_the_widest_first_then_the_first_in_the_file() -> None:
    table = counter_table("openconfig")
    speed = table.exact["/interfaces/interface/ethernet/state/port-speed"]
    negotiated = table.exact["/interfaces/interface/ethernet/state/negotiated-port-speed"]
    assert speed.rank < negotiated.rank


def test_states_have_the_codes_of_the_interface_mib() -> None:
    assert (state_codes("port_oper_state")["UP"], state_codes("port_oper_state")["LOWER_LAYER_DOWN"]) == (1, 7)
    assert state_codes("port_fec_mode") == {}
