-- Grain: cluster x device x port x scrape: what happened since the scrape before it.
-- NULL where the difference means nothing: first scrape, another epoch, a baseline, a counter that fell. Counts may be summed
-- over time, never over the two ends of a cable.
create or replace view port_rates as
select
    cluster,
    device,
    port,
    ts,
    speed_gbps,
    seconds,
    case when whole and rx_bytes >= before.rx_bytes then (rx_bytes - before.rx_bytes) * 8e-9 / seconds end as rx_gbps,
    case when whole and tx_bytes >= before.tx_bytes then (tx_bytes - before.tx_bytes) * 8e-9 / seconds end as tx_gbps,
    case when whole and rx_packets >= before.rx_packets then rx_packets - before.rx_packets end as rx_packets,
    case when whole and tx_packets >= before.tx_packets then tx_packets - before.tx_packets end as tx_packets,
    case when whole and rx_discard_packets >= before.rx_discard_packets then rx_discard_packets - before.rx_discard_packets end as rx_discard_packets,
    case when whole and tx_discard_packets >= before.tx_discard_packets then tx_discard_packets - before.tx_discard_packets end as tx_discard_packets,
    case when whole and rx_error_packets >= before.rx_error_packets then rx_error_packets - before.rx_error_packets end as rx_error_packets,
    case when whole and rx_fcs_error_frames >= before.rx_fcs_error_frames then rx_fcs_error_frames - before.rx_fcs_error_frames end as rx_fcs_error_frames,
    case when whole and fec_uncorrected_codewords >= before.fec_uncorrected_codewords then fec_uncorrected_codewords - before.fec_uncorrected_codewords end as fec_uncorrected_codewords,
    case when whole and link_down_events >= before.link_down_events then link_down_events - before.link_down_events end as link_down_events,
    case when whole and pfc_rx_frames >= before.pfc_rx_frames then pfc_rx_frames - before.pfc_rx_frames end as pfc_rx_frames,
    case when whole and pfc_tx_frames >= before.pfc_tx_frames then pfc_tx_frames - before.pfc_tx_frames end as pfc_tx_frames,
    case when whole and ecn_marked_packets >= before.ecn_marked_packets then ecn_marked_packets - before.ecn_marked_packets end as ecn_marked_packets,
    case when whole and rdma_retransmit_segments >= before.rdma_retransmit_segments then rdma_retransmit_segments - before.rdma_retransmit_segments end as rdma_retransmit_segments,
    case when whole and rdma_ack_timeouts >= before.rdma_ack_timeouts then rdma_ack_timeouts - before.rdma_ack_timeouts end as rdma_ack_timeouts,
    case when whole and rdma_cnp_handled >= before.rdma_cnp_handled then rdma_cnp_handled - before.rdma_cnp_handled end as rdma_cnp_handled
from (
    select
        *,
        epoch_us(ts - before.ts) / 1e6 as seconds,
        before is not null and not baseline and epoch = before.epoch and ts > before.ts as whole
    from (
        select
            scrape.*,
            lag(scrape) over (partition by cluster, device, port order by ts) as before
        from (select * exclude (forms) from port_scrapes where port is not null) as scrape
    )
)
