"""Who holds a GPU, by the kubelet's answer and by a prolog's files."""

import pytest

from collectors.attribution.device_id import device_of, is_shared, names_of
from collectors.attribution.holders import Holders, held
from collectors.attribution.job_files import JobFileError, is_name, jobs_of
from collectors.attribution.pod_resources import AnswerError, Holder, ListResponse, read_answer
from collectors.contract.gpu import Gpu
from tests.collectors.kubelet import pod_list

WHOLE = Gpu(uuid="GPU-a", index=2)
INSTANCE = Gpu(uuid="GPU-a", index=2, mig="1g.10gb/7", mig_uuid="MIG-x")


@pytest.mark.parametrize(
    ("device_id", "device", "shared"),
    [
        ("GPU-0f5d3c6e-1b2a", "GPU-0f5d3c6e-1b2a", False),
        ("GPU-0f5d3c6e-1b2a::3", "GPU-0f5d3c6e-1b2a", True),
        ("MIG-77aa::0", "MIG-77aa", True),
        ("nvidia2", "nvidia2", False),
        ("nvidia2/gi7", "nvidia2/gi7", False),
        ("nvidia2/gi7/vgpu1", "nvidia2/gi7", True),
        ("nvidia0/vgpu0", "nvidia0", True),
        ("0000:1a:00.0", None, False),
        ("rdma0", None, False),
        ("GPU-a::x", None, False),
        ("GPU-a/../b", None, False),
        ("", None, False),
    ],
)
def test_a_device_id_is_a_device_and_perhaps_a_share_of_it(device_id: str, device: str | None, shared: bool) -> None:
    assert (device_of(device_id), is_shared(device_id)) == (device, shared)


def test_an_instance_is_not_its_gpu() -> None:
    assert names_of(WHOLE) == ["GPU-a", "nvidia2"]
    assert names_of(INSTANCE) == ["MIG-x", "nvidia2/gi7"]
    assert names_of(Gpu(uuid="GPU-a", mig="1g.10gb/7")) == []


def test_each_device_of_a_container_is_its_pods() -> None:
    raw = pod_list(("ml", "bert-0", {"main": ["GPU-a", "GPU-b"], "log": []}), ("", "web", {"main": ["rdma0"]}))
    found = read_answer(raw)
    holder = Holder("ml", "bert-0", "main")
    assert (found.by_device, found.shared, found.pods) == ({"GPU-a": (holder,), "GPU-b": (holder,)}, frozenset(), 2)


def test_pods_that_share_a_gpu_in_time_stand_parallel_on_it() -> None:
    raw = pod_list(("a", "one", {"x": ["GPU-a::0", "GPU-a::2"]}), ("b", "two", {"y": ["GPU-a::1"]}))
    found = read_answer(raw)
    gpu = held(WHOLE, Holders(found))
    assert found.shared == {"GPU-a"}
    assert (gpu.namespace, gpu.pod, gpu.container) == ("a,b", "one,two", "x,y")


def test_the_pod_of_an_instance_does_not_hold_the_gpu() -> None:
    holders = Holders(read_answer(pod_list(("ml", "p", {"c": ["MIG-x"]}))))
    assert (held(WHOLE, holders).pod, held(INSTANCE, holders).pod) == (None, "p")


def test_claims_without_a_uuid_are_counted() -> None:
    answer = ListResponse()
    answer.pods.add(name=b"p").containers.add(name=b"c", dynamic_resources=[b"x"])
    assert read_answer(answer.SerializeToString()).claims == 1


@pytest.mark.parametrize("raw", [b"\xff\xff", pod_list(("a", "p" * 300, {"c": ["GPU-a"]}))])
def test_bytes_that_are_no_answer_are_refused(raw: bytes) -> None:
    with pytest.raises(AnswerError):
        read_answer(raw)


def test_a_name_that_is_no_text_is_refused() -> None:
    answer = ListResponse()
    answer.pods.add(name=b"\xff").containers.add(name=b"c").devices.add(device_ids=[b"GPU-a"])
    with pytest.raises(AnswerError, match="no list of pods"):
        read_answer(answer.SerializeToString())


@pytest.mark.parametrize(
    ("raw", "jobs"),
    [
        (b"471108\n", ("471108",)),
        (b"471108", ("471108",)),
        (b"1\n\n2\r\n1\n", ("1", "2")),
        (b"1234.pbs-server\n", ("1234.pbs-server",)),
        (b"", ()),
        (b"\n \n", ()),
    ],
)
def test_a_file_is_a_job_a_line(raw: bytes, jobs: tuple[str, ...]) -> None:
    assert jobs_of(raw) == jobs


@pytest.mark.parametrize(
    "raw", [b"\xff\xfe", b"1\x002", b"a,b", b"x" * 300, b"1\n" * 40000, b"".join(b"%d\n" % n for n in range(65))]
)
def test_a_file_that_names_no_jobs_is_refused(raw: bytes) -> None:
    with pytest.raises(JobFileError):
        jobs_of(raw)


def test_a_file_is_named_by_a_gpu_or_an_instance() -> None:
    assert [is_name(name) for name in ("0", "2.1", "2-1", "README", ".0", "1.2.3", "12345")] == [True, True] + [
        False
    ] * 5


def test_an_instance_is_its_own_holders_else_its_gpus() -> None:
    both = Holders(jobs={"2": ("1", "2"), "2.7": ("3",)})
    assert (held(WHOLE, both).hpc_job, held(INSTANCE, both).hpc_job) == ("1,2", "3")
    assert held(INSTANCE, Holders(jobs={"2": ("1",)})).hpc_job == "1"
    assert held(WHOLE, Holders(jobs={"2.7": ("3",)})).hpc_job is None


def test_a_process_on_the_gpu_knows_better_than_a_file() -> None:
    running = Gpu(uuid="GPU-a", index=2, hpc_job="5", pod_uid="u")
    gpu = held(running, Holders(read_answer(pod_list(("ml", "p", {"c": ["GPU-a"]}))), {"2": ("4",)}))
    assert (gpu.hpc_job, gpu.pod_uid, gpu.namespace, gpu.pod) == ("5", "u", "ml", "p")


def test_a_gpu_that_nobody_holds_stays_as_it_is() -> None:
    assert held(WHOLE, Holders()) is WHOLE
