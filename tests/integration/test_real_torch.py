"""The training client in real frameworks. They are large and no dependency, so this runs where they are installed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.steps import hugging_face, lightning
from collectors.steps.client import Run
from collectors.steps.client_loop import gpu, hook_last_gradient
from tests.collectors.ear import Ear

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[Ear]:
    ear = Ear(tmp_path / "s")
    yield ear
    ear.close()


def steps_until_end(ear: Ear) -> list[dict[str, Any]]:
    found = [ear.any()]
    while found[-1].get("kind") != "ended":
        found.append(ear.any())
    assert found[-1]["state"] == "completed"
    return [one for one in found if one["type"] == "step"]


@needs_gpu
def test_cuda_events_time_the_gpu_and_wait_for_nothing(ear: Ear) -> None:
    device = torch.device("cuda", 0)
    about = gpu(device)
    assert str(about["gpu_uuid"]).count("-") == 4 and about["gpu_model"] == torch.cuda.get_device_name(device)
    one = Run("j", 0, 1, path=str(ear.path), env={}, **about)
    torch.cuda.synchronize()
    for step in range(4):
        with one.step(step) as s, s.compute():
            torch.cuda._sleep(200_000_000)  # a tenth of a second, of the stream only
    torch.cuda.synchronize()
    one.end()
    found = steps_until_end(ear)
    assert [row["step"] for row in found] == [0, 1, 2, 3]
    for row in found:
        assert row["compute_s"] > 0.02 > row["step_s"]  # the host went on at once
    assert one.missed == 0


@needs_gpu
def test_a_gpu_that_is_far_behind_costs_times_and_not_steps(ear: Ear) -> None:
    one = Run("j", 0, 1, path=str(ear.path), env={}, **gpu(torch.device("cuda", 0)))
    torch.cuda._sleep(4_000_000_000)
    for step in range(30):
        with one.step(step) as s, s.compute():
            torch.zeros(1, device="cuda")
    assert one.missed == 30 - 16
    torch.cuda.synchronize()
    one.end()
    assert ["compute_s" in row for row in steps_until_end(ear)] == [False] * 14 + [True] * 16


def test_the_hook_on_the_last_gradient_ends_the_own_work(ear: Ear) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    one = Run("j", 0, 1, path=str(ear.path), env={})
    handle = hook_last_gradient(net, one)
    with one.step(1) as s, s.compute():
        net(torch.ones(4, 8)).sum().backward()
    handle.remove()
    one.end()
    (row,) = steps_until_end(ear)
    assert row["compute_s"] > 0 and row["wait_s"] > 0


def test_lightning_tells_steps_saves_and_evaluations(ear: Ear, tmp_path: Path) -> None:
    pl: Any = pytest.importorskip("lightning", reason="lightning is not installed")
    from lightning.pytorch.callbacks import ModelCheckpoint  # type: ignore[import-not-found,unused-ignore]

    class Net(pl.LightningModule):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Linear(8, 8)

        def training_step(self, batch: Any, _: int) -> Any:
            return self.net(batch[0]).mean()

        def validation_step(self, batch: Any, _: int) -> None:
            self.net(batch[0])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 8)), batch_size=4)
    callback = lightning.StepCallback("j", tokens=lambda batch: batch[0].numel(), path=str(ear.path), env={})
    pl.Trainer(
        max_steps=4,
        accumulate_grad_batches=2,
        val_check_interval=4,
        devices=1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[callback, ModelCheckpoint(dirpath=tmp_path, every_n_train_steps=2)],
    ).fit(Net(), data, data)
    found = steps_until_end(ear)
    train = [row for row in found if row["phase"] == "train"]
    assert [row["step"] for row in train] == [1, 2, 3, 4]
    assert all(row["tokens"] == 64 and 0 < row["compute_s"] <= row["step_s"] for row in train)
    assert [row["step"] for row in found if row["phase"] == "eval"] == [2, 4]
    assert sum("checkpoint_s" in row for row in found) == 2


def test_hugging_faces_trainer_tells_steps_saves_and_evaluations(ear: Ear, tmp_path: Path) -> None:
    hf: Any = pytest.importorskip("transformers", reason="transformers is not installed")
    config = hf.LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2
    )
    rows = [{"input_ids": torch.arange(16), "labels": torch.arange(16)} for _ in range(32)]
    callback = hugging_face.StepCallback("j", tokens=lambda args: 2 * 2 * 16, path=str(ear.path), env={})
    args = hf.TrainingArguments(
        output_dir=str(tmp_path / "out"),
        max_steps=4,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        eval_strategy="steps",
        eval_steps=2,
        save_steps=2,
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
    )
    model = hf.LlamaForCausalLM(config)
    hf.Trainer(model=model, args=args, train_dataset=rows, eval_dataset=rows[:4], callbacks=[callback]).train()
    found = steps_until_end(ear)
    train = [row for row in found if row["phase"] == "train"]
    assert [(row["step"], row["tokens"]) for row in train] == [(n, 64) for n in (1, 2, 3, 4)]
    assert all(0 < row["compute_s"] <= row["step_s"] for row in train)
    assert [row["step"] for row in found if row["phase"] == "eval"] == [2, 4]
