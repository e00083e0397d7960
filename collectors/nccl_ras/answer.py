"""Bytes of an answer into a report."""

from collectors.nccl_ras.document import read_document
from collectors.nccl_ras.report import Report, ReportError
from collectors.nccl_ras.text import read_text


def read_answer(raw: bytes) -> Report:
    """JSON or text, by its first byte. Raises `ReportError`."""
    first = raw[:1024].lstrip()[:1]
    if not first:
        raise ReportError("the answer is empty")
    return read_document(raw) if first == b"{" else read_text(raw)
