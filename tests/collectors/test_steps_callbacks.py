"""The callbacks of Lightning and Hugging Face, driven by fakes that call the hooks in the frameworks' order."""

import importlib
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from collectors.steps import hugging_face, lightning
from collectors.steps.client_loop import many_nodes
from tests.collectors.ear import Ear


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[Ear]:
    ear = Ear(tmp_path / "s")
    yield ear
    ear.close()


class Parameter:
    """A model's parameter, whose gradient hook the test calls."""

    requires_grad = True

    def __init__(self, size: int = 10) -> None:
        self.size = size
        self.hooks: list[Any] = []

    def numel(self) -> int:
        return self.size

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        self.hooks.append(hook)
        return SimpleNamespace(remove=lambda: self.hooks.remove(hook))


class Model:
    """A model of two parameters."""

    automatic_optimization = True

    def __init__(self) -> None:
        self.all = [Parameter(), Parameter()]
        self.config = SimpleNamespace(
            num_hidden_layers=2, num_attention_heads=4, hidden_size=512, head_dim=None, model_type="llama"
        )

    def parameters(self) -> list[Parameter]:
        return self.all


class SingleDeviceStrategy:
    """By its name the callback knows that a rank's own work can be told."""

    root_device = SimpleNamespace(type="cpu")


class DDPStrategy(SingleDeviceStrategy):
    """As above, with waiting in the backward pass."""


class FSDPStrategy(SingleDeviceStrategy):
    """Waits everywhere."""


class LightningTrainer:
    """Calls the hooks as Lightning 2 does: the closure of the optimizer's step runs forward and backward."""

    def __init__(self, callback: Any, strategy: Any = None, world_size: int = 1, accumulate: int = 1) -> None:
        self.callback = callback
        self.strategy = strategy or SingleDeviceStrategy()
        self.global_rank, self.world_size, self.local_rank, self.num_nodes = 0, world_size, 0, 1
        self.accumulate = accumulate
        self.global_step = 0
        self.sanity_checking = False
        self.saved: list[str] = []
        self.model = Model()

    def save_checkpoint(self, path: str) -> str:
        self.saved.append(path)
        return path

    def fit(self, batches: int, *, save_at: int = 0, fail_at: int = 0) -> None:
        call = self.callback
        call.setup(self, self.model, "fit")
        self.sanity_checking = True
        call.on_validation_start(self, self.model)
        call.on_validation_end(self, self.model)
        self.sanity_checking = False
        call.on_train_start(self, self.model)
        try:
            for i in range(batches):
                call.on_train_batch_start(self, self.model, [1] * 16, i)
                if fail_at == i + 1:
                    raise ValueError("bad batch")
                call.on_before_backward(self, self.model, None)
                for hook in self.model.all[0].hooks:
                    hook(None)
                call.on_after_backward(self, self.model)
                if (i + 1) % self.accumulate == 0:
                    call.on_before_optimizer_step(self, self.model, None)
                    self.global_step += 1
                call.on_train_batch_end(self, self.model, None, [1] * 16, i)
                if save_at == i + 1:
                    assert self.save_checkpoint("a.ckpt") == "a.ckpt"
            call.on_validation_start(self, self.model)
            call.on_validation_end(self, self.model)
        except ValueError as why:
            call.on_exception(self, self.model, why)
        call.teardown(self, self.model, "fit")


def options(ear: Ear) -> dict[str, Any]:
    return {"path": str(ear.path), "env": {}}


def until_end(ear: Ear) -> list[dict[str, Any]]:
    found = [ear.any()]
    while found[-1].get("kind") != "ended":
        found.append(ear.any())
    return found


def steps(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in found if one["type"] == "step"]


def test_lightnings_steps_are_optimizer_steps_with_their_parts(ear: Ear) -> None:
    LightningTrainer(lightning.Hooks("j", tokens=len, **options(ear))).fit(3)
    found = until_end(ear)
    assert [(one["step"], one["phase"]) for one in steps(found)] == [
        (1, "train"),
        (2, "train"),
        (3, "train"),
        (3, "eval"),
    ]
    for one in steps(found)[:3]:
        assert one["tokens"] == 16
        assert 0 < one["compute_s"] + one["data_s"] <= one["step_s"]
        assert "wait_s" not in one
    assert (found[-1]["state"], found[-1]["step"]) == ("completed", 3)


def test_lightnings_accumulated_batches_are_one_step(ear: Ear) -> None:
    LightningTrainer(lightning.Hooks("j", tokens=len, **options(ear)), accumulate=2).fit(4)
    found = [one for one in steps(until_end(ear)) if one["phase"] == "train"]
    assert [(one["step"], one["tokens"]) for one in found] == [(1, 32), (2, 32)]
    assert all(one["compute_s"] + one["data_s"] <= one["step_s"] for one in found)
    for one in found:
        microbatches = one["microbatch_forward_s"], one["microbatch_backward_s"]
        assert [len(times) for times in microbatches] == [2, 2]
        assert sum(map(sum, microbatches)) <= one["compute_s"] + 1e-5


def test_where_the_users_own_code_optimizes_no_microbatches_are_claimed(ear: Ear) -> None:
    trainer = LightningTrainer(lightning.Hooks("j", **options(ear)))
    trainer.model.automatic_optimization = False
    trainer.fit(2)
    for one in steps(until_end(ear))[:2]:
        assert one["compute_s"] > 0
        assert "microbatch_forward_s" not in one


def test_under_ddp_what_follows_the_last_gradient_is_waiting(ear: Ear) -> None:
    trainer = LightningTrainer(lightning.Hooks("j", **options(ear)), DDPStrategy(), world_size=2)
    trainer.fit(2)
    found = [one for one in steps(until_end(ear)) if one["phase"] == "train"]
    assert all("wait_s" in one and "compute_s" in one for one in found)
    assert trainer.model.all[0].hooks == []  # and nothing is left on the model


def test_where_waiting_is_everywhere_no_compute_is_claimed(ear: Ear) -> None:
    LightningTrainer(lightning.Hooks("j", **options(ear)), FSDPStrategy(), world_size=2).fit(2)
    assert all("compute_s" not in one and one["step_s"] > 0 for one in steps(until_end(ear)))


def test_lightnings_save_is_timed_and_its_method_given_back(ear: Ear) -> None:
    trainer = LightningTrainer(lightning.Hooks("j", **options(ear)))
    trainer.fit(3, save_at=2)
    found = until_end(ear)
    (saved,) = (one for one in found if one.get("kind") == "checkpoint")
    third = next(one for one in steps(found) if one["step"] == 3)
    assert (saved["step"], third["checkpoint_s"]) == (2, saved["seconds"])
    assert third["step_s"] >= third["checkpoint_s"]
    assert trainer.saved == ["a.ckpt"]
    assert "save_checkpoint" not in trainer.__dict__


def test_an_error_in_lightning_ends_the_job(ear: Ear) -> None:
    LightningTrainer(lightning.Hooks("j", **options(ear))).fit(3, fail_at=2)
    found = until_end(ear)
    assert [one["step"] for one in steps(found)] == [1]
    assert (found[-1]["state"], found[-1]["reason"]) == ("failed", "ValueError: bad batch")


def test_a_callback_that_cannot_read_its_framework_does_not_stop_training(ear: Ear) -> None:
    hooks = lightning.Hooks("j", tokens=lambda batch: batch["no"], **options(ear))
    LightningTrainer(hooks).fit(2)
    found = until_end(ear)
    assert found[-1]["state"] == "completed"
    assert sum(one["dropped"] for one in found) == 2
    lightning.Hooks("j").setup(object(), None, "fit")  # a trainer of an unknown make


class HuggingFaceTrainer:
    """Calls the hooks as transformers 5 does: the batches of a step are fetched before it begins."""

    def __init__(self, callback: Any, **args: Any) -> None:
        self.callback = callback
        self.args = SimpleNamespace(
            **(
                {
                    "process_index": 0,
                    "world_size": 1,
                    "local_process_index": 0,
                    "device": SimpleNamespace(type="cpu"),
                    "bf16": True,
                    "fp16": False,
                    "fsdp": [],
                    "deepspeed": None,
                    "per_device_train_batch_size": 4,
                }
                | args
            )
        )
        self.state = SimpleNamespace(global_step=0)
        self.model = Model()

    def train(self, many: int, *, save_at: int = 0, evaluate_at: int = 0) -> None:
        def call(event: str, **more: Any) -> None:
            getattr(self.callback, event)(self.args, self.state, None, model=self.model, **more)

        call("on_train_begin")
        for n in range(1, many + 1):
            call("on_step_begin")
            call("on_substep_end")
            for hook in self.model.all[0].hooks:
                hook(None)
            call("on_pre_optimizer_step")
            self.state.global_step = n
            call("on_step_end")
            call("on_log", logs={})
            if n == evaluate_at:
                call("on_log", logs={})
                call("on_evaluate", metrics={"eval_loss": 2.5, "eval_runtime": 4.25})
            if n == save_at:
                call("on_save")
        call("on_train_end")


def test_hugging_faces_steps_evaluations_and_saves_are_told(ear: Ear) -> None:
    hooks = hugging_face.Hooks("j", tokens=lambda args: args.per_device_train_batch_size * 128, **options(ear))
    HuggingFaceTrainer(hooks).train(3, save_at=2, evaluate_at=2)
    found = until_end(ear)
    assert [(one["step"], one["phase"]) for one in steps(found)] == [
        (1, "train"),
        (2, "train"),
        (2, "eval"),
        (3, "train"),
    ]
    for one in steps(found):
        assert one["phase"] == "eval" or (one["tokens"] == 512 and 0 < one["compute_s"] <= one["step_s"])
    assert steps(found)[2]["step_s"] == 4.25
    (saved,) = (one for one in found if one.get("kind") == "checkpoint")
    assert (saved["step"], steps(found)[-1]["checkpoint_s"]) == (2, saved["seconds"])
    (hello,) = (one for one in found if one["type"] == "hello")
    assert hello["model"] == {
        "params": 20,
        "layers": 2,
        "heads": 4,
        "head_dim": 128,
        "dtype": "bf16",
        "name": "llama",
    }
    assert found[-1]["state"] == "completed"


def test_hugging_face_under_ddp_tells_waiting_apart(ear: Ear) -> None:
    trainer = HuggingFaceTrainer(hugging_face.Hooks("j", **options(ear)), world_size=2)
    trainer.train(2)
    assert all("wait_s" in one for one in steps(until_end(ear)))
    assert trainer.model.all[0].hooks == []


@pytest.mark.parametrize("sharded", [{"fsdp": ["full_shard"]}, {"deepspeed": "ds.json"}])
def test_hugging_face_with_a_sharded_model_claims_neither_compute_nor_shape(ear: Ear, sharded: dict[str, Any]) -> None:
    HuggingFaceTrainer(hugging_face.Hooks("j", **options(ear)), world_size=2, **sharded).train(2)
    found = until_end(ear)
    assert all("compute_s" not in one for one in steps(found))
    assert next(one for one in found if one["type"] == "hello")["model"] is None


def test_a_model_that_a_launcher_shards_is_known() -> None:
    args, model = SimpleNamespace(fsdp=None, deepspeed=None), Model()
    assert not hugging_face.is_sharded(args, model, {"ACCELERATE_USE_FSDP": "false"})
    assert hugging_face.is_sharded(args, model, {"ACCELERATE_USE_FSDP": "true"})
    model.all[1].device_mesh = "cuda:0..7"  # type: ignore[attr-defined]
    assert hugging_face.is_sharded(args, model, {})


def test_a_model_of_which_parts_are_frozen_has_no_shape() -> None:
    model = Model()
    model.all[0].requires_grad = False
    assert hugging_face.shape(model, SimpleNamespace(bf16=True)) is None


def test_a_second_training_is_another_run(ear: Ear) -> None:
    hooks = hugging_face.Hooks("j", **options(ear))
    trainer = HuggingFaceTrainer(hooks)
    trainer.train(1)
    first = until_end(ear)
    trainer.train(1)
    assert [one["step"] for one in steps(first) + steps(until_end(ear))] == [1, 1]


@pytest.mark.parametrize(
    ("module", "where"),
    [
        (lightning, "lightning.pytorch.callbacks.Callback"),
        (lightning, "pytorch_lightning.callbacks.Callback"),
        (hugging_face, "transformers.TrainerCallback"),
    ],
)
def test_the_frameworks_class_is_the_callbacks_base(
    module: ModuleType, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    *packages, name = where.split(".")
    for absent in ("lightning", "pytorch_lightning", "transformers"):
        monkeypatch.setitem(sys.modules, absent, None)
    base = type(name, (), {})
    for i in range(1, len(packages) + 1):
        monkeypatch.setitem(sys.modules, ".".join(packages[:i]), ModuleType(".".join(packages[:i])))
    setattr(sys.modules[".".join(packages)], name, base)
    importlib.reload(module)
    assert issubclass(module.StepCallback, base)
    assert pickle.loads(pickle.dumps(module.StepCallback)) is module.StepCallback
    importlib.reload(module)


def test_without_the_framework_the_import_says_so() -> None:
    with pytest.raises(ImportError):
        _ = lightning.StepCallback
    with pytest.raises(AttributeError):
        _ = lightning.NoSuchThing


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, False),
        ({"LOCAL_WORLD_SIZE": "8"}, True),
        ({"LOCAL_WORLD_SIZE": "16"}, False),
        ({"SLURM_NTASKS_PER_NODE": "4"}, True),
    ],
)
def test_a_job_on_several_nodes_is_known_by_its_launcher(env: dict[str, str], expected: bool) -> None:
    assert many_nodes(16, env) is expected
