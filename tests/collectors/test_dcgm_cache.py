"""Reading a target's next page with what is known of its last one gives what reading it anew would."""

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.dcgm.page import PageReader

NAMES = ["DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_EXP_XID_ERRORS_COUNT", "dcgm_sm_clock"]
VALUES = [
    *("0", "1", "55", "8.969000", "55491669881", "2147483633", "9223372036854775794", "140737488355328.000000"),
    *("NaN", "<<<NOT_FOUND>>>", "5 1700000000000", "five", "1e3", "", "-7", "9007199254740993", "1,2", "true", "007"),
]
LABELS = [
    "",
    'gpu="0",UUID="GPU-0",Hostname="a"',
    'gpu="1",UUID="GPU-1",Hostname="a"',
    'gpu="1",UUID="GPU-1",Hostname="b",pod="p"',
    'gpu="0",UUID="GPU-0",Hostname="a",hpc_job="1"',
    'gpu="0",UUID="GPU-0",Hostname="a",hpc_job="2"',
    'gpu="0",UUID="GPU-0",GPU_I_PROFILE="1g.10gb",GPU_I_ID="7",Hostname="a"',
    'nvlink="3",gpu="0",Hostname="a"',
    'nvswitch="nvswitch0",Hostname="a"',
    'gpu="0",UUID="GPU-0",err_msg="a } b {"',
]
LINES = st.one_of(
    st.builds(
        lambda name, labels, value: f"{name}{{{labels}}} {value}", *map(st.sampled_from, (NAMES, LABELS, VALUES))
    ),
    st.sampled_from(["", "# TYPE x gauge", "# HELP x five", "up 1", "1", "garbage", " ", "x{ 1"]),
)


def rewrite(page: list[str], changes: list[tuple[int, str]]) -> list[str]:
    """The page with other values in some of its lines."""
    out = list(page)
    for place, value in changes:
        if out:
            at = place % len(out)
            head, space, _ = out[at].rpartition(" ")
            out[at] = f"{head}{space}{value}"
    return out


CHANGES = st.lists(st.tuples(st.integers(0, 30), st.sampled_from(VALUES)), max_size=5)
EDITS = st.lists(st.tuples(st.sampled_from(["insert", "remove", "swap"]), st.integers(0, 30), LINES), max_size=3)


def edit(page: list[str], edits: list[tuple[str, int, str]]) -> list[str]:
    out = list(page)
    for verb, place, line in edits:
        at = place % (len(out) + 1)
        if verb == "insert":
            out.insert(at, line)
        elif at < len(out) and verb == "remove":
            del out[at]
        elif at < len(out):
            out[at] = line
    return out


@settings(max_examples=400, deadline=None)
@given(st.lists(LINES, max_size=20), st.lists(st.tuples(CHANGES, EDITS), max_size=4), st.sampled_from(["\n", ""]))
def test_cached_reading_equals_reading_anew(
    page: list[str], sweeps: list[tuple[list[tuple[int, str]], list[tuple[str, int, str]]]], end: str
) -> None:
    reader = PageReader("n", "c")
    texts = ["\n".join(page) + end]
    for changes, edits in sweeps:
        page = edit(rewrite(page, changes), edits)
        texts.append("\n".join(page) + end)
    for ts_us, text in enumerate(texts):
        assert reader.read(text.encode(), ts_us) == PageReader("n", "c").read(text.encode(), ts_us)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_two_texts_are_read_without_an_error(first: bytes, second: bytes) -> None:
    reader = PageReader("n", "c")
    for text in (first, second, second):
        assert reader.read(text, 1) == PageReader("n", "c").read(text, 1)


def page_of(gpus: int, value: int, pod: str = "p") -> bytes:
    text = "".join(
        f'{name}{{gpu="{gpu}",UUID="GPU-{gpu}",Hostname="a",namespace="n",pod="{pod}"}} {value + gpu}\n'
        for name in ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_SM_CLOCK")
        for gpu in range(gpus)
    )
    return text.encode()


def test_a_lost_gpu_and_its_return_are_seen_at_once() -> None:
    reader = PageReader("n", "c")
    rows = [[g.uuid for g in reader.read(page_of(n, 40), 1).scrapes[0].gpus] for n in (3, 2, 3)]
    assert rows == [["GPU-0", "GPU-1", "GPU-2"], ["GPU-0", "GPU-1"], ["GPU-0", "GPU-1", "GPU-2"]]


def test_a_new_pod_is_seen_at_once() -> None:
    reader = PageReader("n", "c")
    assert [reader.read(page_of(1, 40, pod), 1).scrapes[0].gpus[0].pod for pod in ("p", "q", "q")] == ["p", "q", "q"]
