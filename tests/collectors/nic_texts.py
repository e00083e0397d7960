"""Texts of `ethtool -S`, made up in the forms that four drivers write."""

MLX5 = """NIC statistics:
     rx_packets: 10
     rx_bytes_phy: 18446744073709551615
     rx_prio3_pause: 7
     rx_prio3_pause_duration: 99
     tx_prio3_pause: 0
     rx_discards_phy: 3
     rx0_packets: 5
     tx_pause_storm_error_events: 1
"""
BNXT = """NIC statistics:
     [0]: rx_ucast_packets: 17
     rx_total_discard_pkts: 2
     rx_pfc_ena_frames_pri3: 4
     tx_pfc_ena_frames_pri3: 5
     pfc_pri3_rx_duration_us: 6
     rx_fcs_err_frames: 0
     link_down_events: 1
"""
ENA = """NIC statistics:
     tx_timeout: 0
     bw_in_allowance_exceeded: 12
     conntrack_allowance_exceeded: 3
     queue_0_tx_cnt: 88
     ena_admin_q_aborted_cmd: 0
"""
GVE = """NIC statistics:
     rx_packets: 5
     rx_dropped: 1
     tx_timeouts: 2
     interface_down_cnt: 3
     rx_posted_desc[0]: 9
     adminq_cmd_fail: 4
     adminq_report_stats_cnt: 8
"""
