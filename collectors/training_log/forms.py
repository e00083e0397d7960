"""Whose log it is: every reader looks at every line, and the first that knows a step of its own has the steps."""

from collections.abc import Callable, Iterable
from typing import Protocol

from collectors.training_log.composer import Composer
from collectors.training_log.deepspeed import DeepSpeed
from collectors.training_log.fact import Fact, Told
from collectors.training_log.hugging_face import HuggingFace
from collectors.training_log.lightning import Lightning
from collectors.training_log.line import Line
from collectors.training_log.megatron import Megatron
from collectors.training_log.torchtitan import Torchtitan


class Form(Protocol):
    """One framework's way to print. `told` is the log's own and is filled in."""

    def read(self, line: Line) -> Iterable[Fact]:
        """What the line says; nothing where it is not this framework's."""

    def rest(self) -> Iterable[Fact]:
        """What was held back for a line that did not come."""


FORMS: dict[str, Callable[[Told, bool], Form]] = {
    "megatron": lambda told, _: Megatron(told),
    "torchtitan": lambda told, _: Torchtitan(told),
    "composer": lambda told, _: Composer(told),
    "lightning": lambda told, _: Lightning(told),
    "deepspeed": lambda told, _: DeepSpeed(told),
    "hugging-face": lambda _, named: HuggingFace(named),
}
"""In the order of how much their lines say: Megatron on DeepSpeed prints both, and so does Hugging Face on it.
The second argument: the user named the form."""
