"""Bytes, known by the numbers that files of a kind begin with."""

from __future__ import annotations

from dataclasses import dataclass

from memory_context.model.media import pixels_of
from memory_context.text.describe.kind import Kind
from memory_context.text.describe.wording import counted

# From the formats' own specifications, as the `file` command's list of magic numbers has them.
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "PNG image"), (b"\xff\xd8\xff", "JPEG image"), (b"GIF8", "GIF image"), (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "ZIP archive"), (b"PK\x05\x06", "empty ZIP archive"), (b"\x1f\x8b", "gzip data"), (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"), (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"), (b"Rar!\x1a\x07", "RAR archive"),
    (b"\x28\xb5\x2f\xfd", "zstd data"), (b"SQLite format 3\x00", "SQLite database"), (b"\x7fELF", "ELF executable"),
    (b"MZ", "Windows executable"), (b"\xca\xfe\xba\xbe", "Java class"), (b"\xcf\xfa\xed\xfe", "Mach-O executable"),
    (b"OggS", "Ogg media"), (b"ID3", "MP3 audio"), (b"fLaC", "FLAC audio"), (b"\x00asm", "WebAssembly module"),
    (b"BM", "BMP image"), (b"II*\x00", "TIFF image"), (b"MM\x00*", "TIFF image"), (b"\xd0\xcf\x11\xe0", "Office document"),
    (b"PAR1", "Parquet file"), (b"ARROW1", "Arrow file"), (b"\x80\x04\x95", "Python pickle"), (b"\x93NUMPY", "NumPy array"),
    (b"\x00\x00\x01\x00", "icon"), (b"wOF2", "web font"), (b"\x1aE\xdf\xa3", "Matroska video"), (b"\x89HDF", "HDF5 file"),
)  # fmt: skip
_BY_OFFSET = (
    (8, b"WEBP", "WebP image"),
    (8, b"WAVE", "WAV audio"),
    (8, b"AVI ", "AVI video"),
    (4, b"ftyp", "MP4 video"),
    (257, b"ustar", "tar archive"),
)
_OFFICE = (
    (b"word/", "Word document"),
    (b"xl/", "Excel workbook"),
    (b"ppt/", "PowerPoint presentation"),
    (b"META-INF/", "Java archive"),
)
_SHORT = (b"BM", b"MZ")


@dataclass(frozen=True, slots=True)
class Binary(Kind):
    """Bytes: ``PNG image, 640 x 480, 12,288 bytes``."""

    notation: str
    size: int
    extent: str = ""

    @property
    def facts(self) -> str:
        """What it is and how large."""
        return ", ".join(
            fact for fact in (self.notation, self.extent, counted(self.size, "byte")) if fact
        )


def recognise_bytes(content: bytes) -> Binary | None:
    """The kind of bytes by their magic number."""
    notation = next((name for magic, name in _MAGIC if content.startswith(magic)), "")
    if not notation or (
        content[:2] in _SHORT
        and (len(content) < 64 or (content[:300].isascii() and b"\0" not in content[:300]))
    ):
        notation = next(
            (name for at, magic, name in _BY_OFFSET if content[at : at + len(magic)] == magic), ""
        )
    if notation == "ZIP archive":
        notation = next((name for part, name in _OFFICE if part in content[:4000]), notation)
    extent = " x ".join(map(str, pixels_of(content) or ()))
    return Binary(notation, len(content), extent) if notation else None
