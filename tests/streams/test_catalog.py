"""The catalogues answer for every code, and the NVLink5 rules read real registers."""

import pytest

from streams import catalog
from streams.catalog_nvlink import nvlink5


def test_codes_of_weight_have_their_bin() -> None:
    bins = {code: catalog.xid(code).bin for code in (13, 31, 43, 45, 48, 63, 64, 74, 79, 94, 95, 119, 140, 149)}
    assert bins == {
        13: "app",
        31: "app",
        43: "app",
        45: "ignore",
        48: "reset_gpu",
        63: "ignore",
        64: "reset_gpu",
        74: "drain_and_diagnose",
        79: "reboot_node",
        94: "retry",
        95: "reset_gpu",
        119: "reset_gpu",
        140: "reset_gpu",
        149: "drain_and_diagnose",
    }


def test_every_row_of_the_catalogues_is_in_a_known_bin() -> None:
    assert {catalog.xid(code).bin for code in range(1, 177)} <= set(catalog.BINS)
    assert all(catalog.xid(code).known for code in range(1, 177))
    assert catalog.sxid(12028).bin == "drain_and_diagnose"
    assert catalog.sxid(23001).fatality == "always_fatal"
    assert set(catalog.ACTIONS) == set(catalog.BINS)


def test_an_unknown_code_is_to_be_diagnosed() -> None:
    assert (catalog.xid(185).bin, catalog.xid(185).known) == ("drain_and_diagnose", False)
    assert (catalog.sxid(99999).bin, catalog.sxid(99999).known) == ("drain_and_diagnose", False)


@pytest.mark.parametrize(
    ("code", "text", "bin", "investigate"),
    [
        (
            145,
            "RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)",
            "ignore",
            "CONTACT_SUPPORT",
        ),
        (149, "NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000)", "reset_gpu", "INVESTIGATE_LINK_SI"),
        (149, "NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x0)", "reset_gpu", "SYMPATHETIC_REPORT_SOLO"),
        (145, "RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x000004c2 0x00000001)", "reset_gpu", "CONTACT_SUPPORT"),
        (150, "MSE Degraded Fatal XC0 i0 Link -1 (0x0 0xFFFFFFFF)", "reset_gpu", "CONTACT_SUPPORT"),
    ],
)
def test_nvlink5_lines_are_judged_by_mask_and_status(code: int, text: str, bin: str, investigate: str) -> None:
    rule = nvlink5(code, text)
    assert rule is not None
    assert (rule.bin, rule.investigate) == (bin, investigate)


def test_nvlink5_text_without_a_rule_is_left_to_the_default() -> None:
    assert nvlink5(144, "SAW_MVB Fatal XC0 i0 Link 3 (0x00000021 0x00004000)") is None
    assert nvlink5(149, "cut line") is None


@pytest.mark.parametrize(
    ("text", "bin"),
    [
        ("GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "reset_gpu"),
        ("GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", "ignore"),
        ("GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", "reboot_node"),
        ("GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)", "reset_gpu"),
        ("GPU recovery action changed from 0x0 (None) to 0xff (?)", "drain_and_diagnose"),
        ("something else", None),
    ],
)
def test_the_recovery_line_sets_the_action(text: str, bin: str | None) -> None:
    assert catalog.recovery(text) == bin
