from collectors.contract.fabric import Link
from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import JobEvent, Placement
from streams.world import World

T0 = 1_800_000_000_000_000


def placed(ts_us: int, *where: tuple[str, str | None], job: str = "train") -> JobEvent:
    ranks = [Placement(rank=r, node=n, gpu_uuid=g) for r, (n, g) in enumerate(where)]
    return JobEvent(ts_us=ts_us, job=job, kind="placed", placement=ranks)


def test_the_last_placement_is_true_whatever_the_order_of_arrival() -> None:
    world = World()
    world.learn(placed(T0 + 2, ("n2", "G2")))
    world.learn(placed(T0 + 1, ("n1", "G1")))
    assert (world.jobs_on_gpu("default", "G1"), world.jobs_on_gpu("default", "G2")) == (set(), {"train"})


def test_a_job_that_moved_leaves_its_old_place() -> None:
    world = World()
    world.learn(placed(T0, ("n1", "G1")))
    world.learn(placed(T0 + 1, ("n2", "G2")))
    assert (world.jobs_on_node("default", "n1"), world.jobs_on_node("default", "n2")) == (set(), {"train"})


def test_an_ended_job_is_hurt_by_nothing_until_it_is_placed_again() -> None:
    world = World()
    world.learn(placed(T0, ("n1", "G1")))
    world.learn(JobEvent(ts_us=T0 + 5, job="train", kind="ended"))
    assert world.jobs_on_gpu("default", "G1") == set()
    world.learn(placed(T0 + 6, ("n1", "G1")))
    assert world.jobs_on_gpu("default", "G1") == {"train"}


def test_an_end_that_arrives_before_its_placement_still_ends_it() -> None:
    world = World()
    world.learn(JobEvent(ts_us=T0 + 5, job="train", kind="ended"))
    world.learn(placed(T0, ("n1", "G1")))
    assert world.jobs_on_node("default", "n1") == set()


def test_a_gpu_is_found_by_its_pci_address() -> None:
    world = World()
    world.learn(GpuScrape(node="n1", ts_us=T0, gpus=[Gpu(uuid="G1", index=0, pci="0000:1a:00")]))
    assert world.gpu_at("default", "n1", "0000:1a:00") == "G1"
    assert world.gpu_at("other", "n1", "0000:1a:00") is None


def test_the_scheduler_labels_of_a_scrape_name_the_job_where_no_placement_does() -> None:
    world = World()
    pods = [Gpu(uuid="G1", hpc_job="17"), Gpu(uuid="G2", namespace="ml", pod="bert-0"), Gpu(uuid="G3")]
    world.learn(GpuScrape(node="n1", ts_us=T0, gpus=pods))
    assert [world.jobs_on_gpu("default", g) for g in ("G1", "G2", "G3")] == [{"17"}, {"ml/bert-0"}, set()]
    assert world.jobs_on_node("default", "n1") == {"17", "ml/bert-0"}


def test_everybody_who_shares_a_gpu_is_on_it() -> None:
    shared = [
        Gpu(uuid="G1", hpc_job="17,18"),
        Gpu(uuid="G2", namespace="ml,web", pod="bert-0,shop"),
        Gpu(uuid="G3"),
        Gpu(uuid="G3", mig="1g.10gb/7", mig_uuid="MIG-7", hpc_job="19"),
        Gpu(uuid="G3", mig="1g.10gb/8", mig_uuid="MIG-8", namespace="ml", pod="gpt-0"),
    ]
    world = World()
    world.learn(GpuScrape(node="n1", ts_us=T0, gpus=shared))
    found = [world.jobs_on_gpu("default", uuid) for uuid in ("G1", "G2", "G3")]
    assert found == [{"17", "18"}, {"ml/bert-0", "web/shop"}, {"19", "ml/gpt-0"}]
    assert world.jobs_on_node("default", "n1") == set().union(*found)
    assert world.gpus_on_node("default", "n1") == {"G1", "G2", "G3"}


def test_a_rank_on_a_mig_device_is_on_its_gpu() -> None:
    world = World()
    world.learn(placed(T0, ("n1", "MIG-8")))
    rows = [Gpu(uuid="G1", index=0), Gpu(uuid="G1", index=0, mig="1g.10gb/8", mig_uuid="MIG-8"), Gpu(uuid="G2")]
    world.learn(GpuScrape(node="n1", ts_us=T0, gpus=rows))
    assert [world.jobs_on_gpu("default", uuid) for uuid in ("G1", "G2")] == [{"train"}, set()]


def test_a_piece_of_a_scrape_says_nothing_of_which_gpus_there_are() -> None:
    world = World()
    world.learn(GpuScrape(node="n1", ts_us=T0, gpus=[Gpu(uuid="G1", pci="0000:1a:00")]))
    version = world.version
    world.learn(GpuScrape(node="n1", ts_us=T0 + 1, gpus=[Gpu(uuid="G2", pci="0000:1a:00")], part=True))
    assert (world.gpu_at("default", "n1", "0000:1a:00"), world.version) == ("G1", version)


def test_a_rank_without_a_named_gpu_counts_for_every_gpu_of_its_node() -> None:
    world = World()
    world.learn(GpuScrape(node="n1", ts_us=T0, gpus=[Gpu(uuid="G1")]))
    world.learn(placed(T0, ("n1", None)))
    assert world.jobs_on_gpu("default", "G1") == {"train"}


def test_a_cable_between_switches_touches_jobs_that_span_it() -> None:
    world = World()
    for leaf, node in (("leaf1", "n1"), ("leaf2", "n2")):
        world.learn(Link(ts_us=T0, device=leaf, port="e1", far_device=f"{node}-nic", far_kind="nic", node=node))
        world.learn(Link(ts_us=T0, device=leaf, port="up", far_device="spine", far_kind="switch"))
    world.learn(placed(T0, ("n1", None), ("n2", None)))
    world.learn(placed(T0, ("n1", None), ("n1", None), job="local"))
    assert world.jobs_on_port("default", "leaf1", "up") == {"train"}
    assert world.jobs_on_port("default", "leaf1", "e1") == {"train", "local"}


def test_a_cable_that_moved_no_longer_carries_the_old_node() -> None:
    world = World()
    world.learn(Link(ts_us=T0, device="leaf1", port="e1", far_device="a", far_kind="nic", node="n1"))
    world.learn(Link(ts_us=T0 + 1, device="leaf1", port="e1", far_device="b", far_kind="nic", node="n2"))
    assert world.ports_behind("default", None, "n1") == set()
    assert world.ports_behind("default", None, "n2") == {"leaf1/e1"}


def test_the_same_news_again_changes_no_version() -> None:
    world = World()
    for ts_us in (T0, T0 + 1):
        world.learn(Link(ts_us=ts_us, device="leaf1", port="e1", far_device="a", far_kind="nic", node="n1"))
        world.learn(GpuScrape(node="n1", ts_us=ts_us, gpus=[Gpu(uuid="G1")]))
    before = world.version
    world.learn(GpuScrape(node="n1", ts_us=T0 + 2, gpus=[Gpu(uuid="G1")]))
    assert world.version == before
