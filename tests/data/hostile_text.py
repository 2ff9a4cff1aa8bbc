"""Hostile input lines: control characters, invalid UTF-8, markup, injection attempts."""

import random

FRAGMENTS = [
    *("", " ", "\t", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"),
    *("\0", "\x07", "\x08", "\x1b[31m", "\x1b]0;x\x07", "\x7f", "\x9b", "\ufeff", "\ufffe"),
    *("\u200b", "\u200c", "\u200d", "\u2060", "\u00ad", "\u034f", "\u180e", "\u3164", "\u115f"),
    *("\u202e", "\u202a", "\u202c", "\u2066", "\u2067", "\u2069", "\u061c", "\u200e", "\u200f"),
    *("\U000e0041", "\U000e007f", "\U000e0001", "\ue000", "\U0010ffff", "\ufdd0", "\ufff9"),
    *("<s>", "</s>", "<pad>", "<unk>", "<0x41>", "<0xFF>", "▁", "▁▁", "⟨0⟩", "⟨", "⟩", "\ufffd"),
    *("👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇮🇳", "🏴\U000e0067\U000e0062\U000e007f", "☠️", "1️⃣", "🇦"),
    *("e\u0301", "\u0301" * 40, "क्" * 30, "ि", "\u094d", "क़", "\u0958", "ﷺ", "㍿", "ﬁ", "İ", "ß"),
    *("three", "hundred", "तीन", "सौ", "seven.", "Dr.", "3.14", "1,250", "!", "?", "।", "॥", "|"),
    *("https://a.org/?q=1&b=%00", "me@a.org", "<b>", "</b>", "<script>", "{0}", "{term}", "%s"),
    *("'; DROP TABLE", "$(reboot)", "`id`", "../../etc/passwd", "\\n", "\\u0000", "(" * 30),
    *("a" * 60, "aA" * 40, "9" * 50, "." * 50, "-" * 50, "中文", "ภาษาไทย", "שלום", "مرحبا", "ꙮ"),
]
BYTES = [
    b"\xff",
    b"\xc3",
    b"\xe0\xa4",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\x80\x80",
    b"\xc0\xaf",
]
MAGIC_NUMBERS = [
    b"\x1f\x8b\x08\0",
    b"BZh91",
    b"PK\x03\x04",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xfd7zXZ\0",
]


def hostile_line(rng):
    """A random hostile line as bytes, without its newline."""
    draw = rng.random()
    if draw < 0.05:
        return b""
    if draw < 0.10:
        code_points = (rng.randrange(0x110000) for _ in range(rng.randint(1, 12)))
        return "".join(chr(c) for c in code_points if not 0xD800 <= c < 0xE000 and c != 10).encode()
    if draw < 0.13:
        return bytes(rng.randrange(256) for _ in range(rng.randint(1, 20))).replace(b"\n", b"")
    parts = rng.choices(FRAGMENTS, k=rng.randint(1, 6))
    line = rng.choice(["", " "]).join(parts).encode()
    if draw < 0.2:
        at = rng.randint(0, len(line))
        line = line[:at] + rng.choice(BYTES) + line[at:]
    return line


def hostile_text(seed, lines):
    """Hostile lines as one text; it may lack the last newline or begin with a magic number."""
    rng = random.Random(seed)
    parts = [hostile_line(rng) for _ in range(lines)]
    if rng.random() < 0.2:
        parts[0] = rng.choice(MAGIC_NUMBERS) + parts[0]
    parts[-1] = parts[-1] or b"."
    return b"\n".join(parts) + rng.choice([b"", b"\n"])
