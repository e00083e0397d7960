"""What Faust does for every message, less what nobody here asks for: its codecs, and statistics that no one reads."""

from typing import Any

import faust
from faust.sensors import Monitor


class Raw(faust.Schema[Any, Any]):
    """Keys and values as they came: the contract decodes them."""

    def compile(self, app: Any, **_: Any) -> Any:
        """From a Kafka message to the event that streams see."""
        make = app.conf.Event

        async def decode(message: Any, *, propagate: bool = False) -> Any:
            return make(app, message.key, message.value, message.headers, message)

        return decode


class Inbound(Monitor):
    """Of each message it notes when its partition was last heard, by which Faust tells a stream that stands still."""

    def on_message_in(self, tp: Any, offset: int, message: Any) -> None:
        """Nothing."""

    def on_stream_event_in(self, tp: Any, offset: int, stream: Any, event: Any) -> None:  # noqa: ARG002
        """When an agent took a message up."""
        self.stream_inbound_time[tp] = self.time()

    def on_stream_event_out(self, tp: Any, offset: int, stream: Any, event: Any, state: Any = None) -> None:
        """Nothing."""

    def on_message_out(self, tp: Any, offset: int, message: Any) -> None:
        """Nothing."""
