"""Read dates and times in the forms that people write: ``28.02.2025``, ``Nov 3, 2025 9:05 PM``, ``1:30``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_NAMES_OF_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
MONTHS: tuple[str, ...] = tuple(_NAMES_OF_MONTHS.split())
_MONTH = rf"(?P<month>(?:{'|'.join(MONTHS)})[a-z]*)\.?"
# Without a year or a day beside it, a name may be another word, such as Mark.
_SURE_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,20}+[.,]*+\s+", re.IGNORECASE)
# A year with a month, or a year alone, counts as a date, because dates are compared with it.
_YEAR_FIRST = re.compile(
    r"(?P<year>[0-9]{4})(?:([-/.])(?P<month>[0-9]{1,2})(?:\2(?P<day>[0-9]{1,2}))?)?"
)
# With the same separator twice, so that 3.10-14 does not match. Whether the day or the month is first is not known.
_YEAR_LAST = re.compile(
    r"(?P<day>[0-9]{1,2})([-/.])(?P<month>[0-9]{1,2})\2(?P<year>[0-9]{4}|[0-9]{2})"
)
_FORMS = (
    _YEAR_FIRST,
    _YEAR_LAST,
    # 3 Nov 2025, and Nov 3, 2025
    re.compile(rf"{_DAY}[\s./-]*{_MONTH}[\s.,/-]*(?P<year>[0-9]{{4}}|[0-9]{{2}})", re.IGNORECASE),
    re.compile(rf"{_MONTH}[\s./-]*{_DAY}[\s,/-]+(?P<year>[0-9]{{4}})", re.IGNORECASE),
    # 2025-Nov-03, Nov 2025 and Q4 2025
    re.compile(rf"(?P<year>[0-9]{{4}})[\s./-]*{_MONTH}[\s./-]*{_DAY}", re.IGNORECASE),
    re.compile(rf"{_SURE_MONTH}[\s,/-]*(?P<year>[0-9]{{4}})", re.IGNORECASE),
    re.compile(r"Q(?P<quarter>[1-4])[\s/-]*(?P<year>[0-9]{4})", re.IGNORECASE),
    # 2025年11月3日, and 2025年11月
    re.compile(r"(?P<year>[0-9]{4})年\s?(?P<month>[0-9]{1,2})月(?:\s?(?P<day>[0-9]{1,2})日)?"),
    # 3 Nov, Nov 3 and November, as in `ls -l` and in reports on one year
    re.compile(rf"{_DAY}[\s./-]*{_SURE_MONTH}", re.IGNORECASE),
    re.compile(rf"{_SURE_MONTH}(?:[\s./-]*{_DAY})?", re.IGNORECASE),
)
# The year of a date that has none: a leap year, as it may be the 29th of February.
_ANY_YEAR = "2000"
# A time alone, or before or after a date. The hours may be those of a duration, up to four digits. Blanks count from the
# first one, so that a long run of them is read once.
_TIME = re.compile(
    r"(?:^|(?<=[0-9])T|(?<=/[0-9]{4}):|(?<!\s)\s|,)\s*+(?P<first>[0-9]{1,4})"
    r"(?::(?P<second>[0-5][0-9])|(?=\s?[ap]\.?m\b))"
    r"(?::(?P<third>[0-5][0-9](?:[.,][0-9]{1,9})?))?(?![0-9:])(?:\s?(?P<half>[ap])\.?m\b\.?)?",
    re.IGNORECASE,
)
# Names such as CST stand for several zones, so no other name is given an offset.
_NAMES_OF_UTC = ("UTC", "GMT", "UT", "Z")
_NO_ZONE = timezone(timedelta(0), "")
# Clocks differ by at most this much: from UTC+14 to UTC-12.
_FARTHEST_ZONES = timedelta(hours=26)
_ZONE = re.compile(r"\s(?:([A-Z]{1,5})|([-+])([0-9]{2}):?([0-9]{2})?)(?=\s|$)")
# https://sqlite.org/lang_datefunc.html
_READ_BY_SQLITE = re.compile(
    r"\s*(?:[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[\sT]+(?=[0-9])|\s*$))?"
    r"(?:[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?\s*(?:Z|[-+][0-9]{2}:[0-9]{2})?\s*)?",
    re.IGNORECASE,
)
# A two-digit year from this one on is in the last century.
_CENTURY_BEGINS = 70


def moment(text: str, *, is_month_first: bool = False) -> datetime | None:
    """Return the date and time that a text names; None for other texts.

    A time without a date is on a fixed day, so that such times can be compared. Its zone is `UTC`, or has an offset, or
    the name that the text gives it, or no name if the text gives none. The last two are read as UTC: see
    `may_be_later`.

    Args:
        text: The text; it may also be a duration, such as ``1:30``.
        is_month_first: Whether 03/11/25 is in March; also whether 1:30 without a date is minutes and seconds.
    """
    try:
        found = datetime.fromisoformat(text)  # fast, and nearly every date has this form
    except ValueError:
        try:
            return _read(text.strip(), is_month_first=is_month_first)
        except (ValueError, OverflowError):  # the 31st of February
            return None
    if found.tzinfo:
        return found
    return found.replace(tzinfo=_NO_ZONE)


def may_be_later(one: datetime, other: datetime) -> bool:
    """Return whether *one* may be later than *other* because their zones differ, and one of them has only a name.

    Both are moments with a zone, and *one* is the earlier one if read as UTC.
    """
    zone = one.tzname() or ""
    other_zone = other.tzname() or ""
    if zone == other_zone or other - one >= _FARTHEST_ZONES:
        return False
    return not (zone.startswith("UTC") and other_zone.startswith("UTC"))


def is_read_by_sqlite(text: str) -> bool:
    """Return whether SQLite's date functions can read a text, so that they do not return NULL for it."""
    return _READ_BY_SQLITE.fullmatch(text) is not None


def _read(text: str, *, is_month_first: bool) -> datetime | None:
    """Return what a text in one of `_FORMS`, or a time alone, names; None for other texts.

    Raises:
        ValueError, OverflowError: There is no such date.
    """
    time = _TIME.search(text)
    since_midnight = timedelta()
    in_zone = _NO_ZONE
    if time:
        before = text[: time.start()]
        after = text[time.end() :]
        text = f"{before} {after}"
        are_minutes_first = is_month_first and not text.strip()
        since_midnight = _since_midnight(time, are_minutes_first=are_minutes_first)
        if zone := _ZONE.search(text):
            start, end = zone.span()
            text = text[:start] + text[end:]
            name, sign, hours, minutes = zone.groups("")
            in_zone = UTC
            # The name of another zone does not tell how far it is from UTC: CST is in America and in China.
            if name and name not in _NAMES_OF_UTC:
                in_zone = timezone(timedelta(0), name)
            east = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
            since_midnight += east if sign == "-" else -east
    date = _WEEKDAY.sub("", text, count=1).strip(" ,")
    if time and not date:
        return datetime(2000, 1, 1, tzinfo=in_zone) + since_midnight
    for form in _FORMS:
        found = form.fullmatch(date)
        if found is None:
            continue
        parts = {"day": "1", "month": "1", "year": _ANY_YEAR}
        parts |= {name: part for name, part in found.groupdict().items() if part}
        day = parts["day"]
        month = parts["month"]
        if form is _YEAR_LAST and is_month_first:
            day, month = month, day
        if "quarter" in parts:
            month = str(3 * int(parts["quarter"]) - 2)
        year = _year(parts["year"])
        midnight = datetime(year, _month(month), int(day), tzinfo=in_zone)
        return midnight + since_midnight
    return None


def _since_midnight(time: re.Match[str], *, are_minutes_first: bool) -> timedelta:
    hours = int(time["first"])
    minutes = int(time["second"] or 0)
    third = time["third"] or "0"
    seconds = float(third.replace(",", "."))
    if time["half"]:
        hours %= 12
        if time["half"] in "pP":
            hours += 12
    elif are_minutes_first and time["third"] is None:
        hours, minutes, seconds = 0, hours, minutes
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def _month(text: str) -> int:
    if text.isdigit():
        return int(text)
    return MONTHS.index(text[:3].lower()) + 1


def _year(text: str) -> int:
    year = int(text)
    if len(text) > 2:
        return year
    if year >= _CENTURY_BEGINS:
        return 1900 + year
    return 2000 + year
