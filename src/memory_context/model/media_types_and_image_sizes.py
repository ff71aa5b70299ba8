"""Recognise binary content: its media type, the size of images, and base64 text that stands for it."""

from __future__ import annotations

import base64
import re
from typing import Final, NamedTuple

from memory_context.runtime.files_replaced_safely import SQLITE_HEADER

BINARY: Final = "application/octet-stream"
LEAST_BASE64 = 256
SHORTEST_LINE = 60
# The first bytes of formats, from https://mimesniff.spec.whatwg.org and the formats themselves.
_SIGNATURES = (
    (rb"RIFF.{4}WEBP", "image/webp"),
    (rb"RIFF.{4}WAVE", "audio/wav"),
    (rb".{4}ftyp", "video/mp4"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (SQLITE_HEADER, "application/vnd.sqlite3"),
    (b"\x7fELF", "application/x-elf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "application/ogg"),
)
# The head of a data URL (RFC 2397) in base64: a media type, and parameters. The counts are bounded, so that a text
# that only begins like one costs nothing.
_DATA_URL = re.compile(
    r"\s*data:(?P<type>[\w.+/-]{0,100})(?:;[\w=.+-]{1,100}){0,5};base64,", re.IGNORECASE
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_STANDARD_ALPHABET = str.maketrans("-_", "+/")  # from that of URLs (RFC 4648, section 5)


class EmbeddedBytes(NamedTuple):
    """Bytes that a text holds in base64, and their media type."""

    data: bytes
    media_type: str


def media_type_of(data: bytes) -> str:
    """Return the media type of *data* by its first bytes; ``application/octet-stream`` if they do not show it."""
    for signature, media_type in _SIGNATURES:
        if re.match(signature, data, re.DOTALL):
            return media_type
    return BINARY


def pixels_of(data: bytes) -> tuple[int, int] | None:
    """Return the width and height of a PNG or GIF image; None for anything else."""
    match media_type_of(data):
        case "image/png" if len(data) >= 24:
            return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
        case "image/gif" if len(data) >= 10:
            return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
        case _:
            return None


def described(data: bytes, media_type: str) -> str:
    """Return a description such as ``image/png, 640 x 480 pixels, 18230 bytes``."""
    if media_type == BINARY:
        media_type = media_type_of(data)
    facts = [media_type, f"{len(data)} bytes"]
    pixels = pixels_of(data)
    if pixels:
        width, height = pixels
        facts.insert(1, f"{width} x {height} pixels")
    return ", ".join(facts)


def data_url(data: bytes, media_type: str) -> str:
    """Return *data* as a data URL (RFC 2397)."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def embedded_bytes(text: str) -> EmbeddedBytes | None:
    """Decode a text that is a data URL, or base64 of 256 characters or more, as a whole; None for any other text.

    Base64 counts as such only if it mixes capital letters, small letters and digits.
    """
    head = _DATA_URL.match(text[:1000])
    if not head and not _looks_like_base64(text):
        return None
    media_type = head["type"] if head else ""
    start = head.end() if head else 0
    body = "".join(text[start:].split()).translate(_STANDARD_ALPHABET)
    try:
        data = base64.b64decode(body, validate=True)
    except ValueError:
        return None
    return EmbeddedBytes(data, media_type or media_type_of(data))


def _looks_like_base64(text: str) -> bool:
    """Return whether *text*, on one line or on long ones, has only characters of base64.

    Its beginning is checked first, which rules most texts out.
    """
    head = text[:LEAST_BASE64]
    if len(head) < LEAST_BASE64 or " " in head or 0 < head.find("\n") < SHORTEST_LINE:
        return False
    head = head.replace("\r", "").replace("\n", "")
    for kind in (str.isupper, str.islower, str.isdigit):
        if not any(map(kind, head)):
            return False
    if not _BASE64.fullmatch(head):
        return False
    body = "".join(text.split())
    return len(body) % 4 == 0 and _BASE64.fullmatch(body) is not None
