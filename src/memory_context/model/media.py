"""Binary content: what kind it is, and base64 that stands for it."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final

BINARY: Final = "application/octet-stream"
SNIFFED: Final = 32
LEAST_BASE64 = 256
LEAST_KINDS = 3
SHORTEST_LINE = 60
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"\x7fELF", "application/x-elf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "application/ogg"),
)
_DATA_URL = re.compile(
    r"\s*data:(?P<type>[\w.+/-]{0,100})(?:;[\w=.+-]{1,100}){0,5};base64,", re.IGNORECASE
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


@dataclass(frozen=True, slots=True)
class Encoded:
    """Bytes that a text holds in base64, and their media type."""

    data: bytes
    media_type: str


def media_type_of(data: bytes) -> str:
    """The media type of `data` by its first bytes; ``application/octet-stream`` where they do not tell.

    The signatures are those of https://mimesniff.spec.whatwg.org and of the formats themselves.
    """
    if data[:4] == b"RIFF" and data[8:12] in (b"WEBP", b"WAVE"):
        return "image/webp" if data[8:12] == b"WEBP" else "audio/wav"
    if data[4:8] == b"ftyp":
        return "video/mp4"
    return next((name for start, name in _SIGNATURES if data.startswith(start)), BINARY)


def pixels_of(data: bytes) -> tuple[int, int] | None:
    """Width and height of an image in PNG, GIF or JPEG; None for anything else."""
    match media_type_of(data):
        case "image/png" if len(data) >= 24:
            return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
        case "image/gif" if len(data) >= 10:
            return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
        case "image/jpeg":
            return _pixels_of_jpeg(data)
        case _:
            return None


def _pixels_of_jpeg(data: bytes) -> tuple[int, int] | None:
    """From the first start-of-frame segment (ITU-T T.81, B.2.2)."""
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[place + 7 : place + 9]), int.from_bytes(
                data[place + 5 : place + 7]
            )
        place += 2 + max(2, int.from_bytes(data[place + 2 : place + 4]))
    return None


def described(data: bytes, media_type: str) -> str:
    """What `data` is, as ``image/png, 640 x 480 pixels, 18230 bytes``."""
    kind = media_type_of(data) if media_type == BINARY else media_type
    pixels = pixels_of(data)
    size = f", {pixels[0]} x {pixels[1]} pixels" if pixels else ""
    return f"{kind}{size}, {len(data)} bytes"


def data_url(data: bytes, media_type: str) -> str:
    """`data` as a URL (RFC 2397)."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def decoded(text: str) -> Encoded | None:
    """The bytes of a text that is a data URL or base64 as a whole, 256 characters or more; None for any other text.

    Base64 counts as such only if it mixes capital letters, small letters and digits.
    """
    head = _DATA_URL.match(text[:1000])
    if head is None and not _looks_encoded(text):
        return None
    body = "".join(text[head.end() if head else 0 :].split())
    try:
        data = base64.b64decode(body.translate(_URL_SAFE), validate=True)
    except (binascii.Error, ValueError):
        return None
    return Encoded(data, (head["type"] if head else "") or media_type_of(data))


_URL_SAFE: Final = str.maketrans("-_", "+/")


def _looks_encoded(text: str) -> bool:
    """Whether `text`, in one line or in long ones, has nothing but base64's characters."""
    if len(text) < LEAST_BASE64 or " " in text[:LEAST_BASE64]:
        return False
    head = text[:LEAST_BASE64].replace("\r", "").replace("\n", "")
    kinds = sum(
        (any(map(str.isupper, head)), any(map(str.islower, head)), any(map(str.isdigit, head)))
    )
    if (
        kinds < LEAST_KINDS
        or _BASE64.fullmatch(head) is None
        or 0 < text[:LEAST_BASE64].find("\n") < SHORTEST_LINE
    ):
        return False
    body = "".join(text.split())
    return len(body) % 4 == 0 and _BASE64.fullmatch(body) is not None
