"""Translation memories (TMX): read as a stream, languages by their tags, hostile files refused."""

import gzip
import tracemalloc

import pytest

from dhyan.data.filters import MAX_CHARACTERS
from dhyan.data.pairs import Pair
from dhyan.data.read_pairs import read_pairs
from dhyan.data.read_report import ReadReport
from dhyan.errors import UserError

DOCTYPE = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'


def unit(**texts):
    """A translation unit on a line of its own."""
    variants = "".join(
        f'<tuv xml:lang="{language.replace("_", "-")}"><seg>{text}</seg></tuv>'
        for language, text in texts.items()
    )
    return f"<tu>{variants}</tu>\n"


def memory(*units, srclang="en", doctype=DOCTYPE):
    header = f'<header srclang="{srclang}" segtype="sentence" datatype="plaintext"/>'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{doctype}\n<tmx version="1.4">{header}<body>\n'
        f"{''.join(units)}</body></tmx>\n"
    )


def read(path, **options):
    report = ReadReport()
    return [
        (pair.source, pair.target) for pair in read_pairs(path, report=report, **options)
    ], report


def write(tmp_path, text, name="a.tmx"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path / name


UNITS = unit(en="Hello &amp; welcome", vi="Xin chào"), unit(vi="Cảm ơn", en="Thanks")
PAIRS = [("Hello & welcome", "Xin chào"), ("Thanks", "Cảm ơn")]


def test_the_two_languages_of_a_memory_are_read(tmp_path):
    assert read(write(tmp_path, memory(*UNITS)))[0] == PAIRS


def test_a_unit_is_numbered_by_its_line(tmp_path):
    pairs = list(read_pairs(write(tmp_path, memory(*UNITS))))
    assert pairs == [Pair(*PAIRS[0], 4), Pair(*PAIRS[1], 5)]


def test_the_source_language_of_the_header_is_the_source(tmp_path):
    path = write(tmp_path, memory(*UNITS, srclang="VI"))
    assert read(path)[0] == [pair[::-1] for pair in PAIRS]


def test_columns_name_the_languages(tmp_path):
    units = (
        unit(en_US="one", vi_VN="một", de="eins"),
        unit(en_GB="two", vi="hai"),
        unit(en="x", de="y"),
    )
    path = write(tmp_path, memory(*units))
    pairs, report = read(path, columns=("vi", "EN"))
    assert pairs == [("một", "one"), ("hai", "two")]
    assert report.dropped["no segment in vi"].locations == [f"{path}:6"]
    with pytest.raises(
        UserError, match=r"a\.tmx:4: 3 languages .*; name two, as columns=\('en', 'vi'\)"
    ):
        read(path)
    with pytest.raises(UserError, match="no usable pair .*3 × no segment in fr"):
        read(path, columns=("en", "fr"))


def test_a_third_language_is_an_error_unless_columns_are_named(tmp_path):
    path = write(tmp_path, memory(*UNITS, unit(en="x", de="y")))
    with pytest.raises(
        UserError, match=r"a\.tmx:6: a third language, de, .* columns=\('en', 'vi'\)"
    ):
        read(path)
    assert read(path, columns=("en", "vi"))[0] == PAIRS


def test_regions_tell_apart_two_variants_of_a_language(tmp_path):
    path = write(tmp_path, memory(unit(en_US="color", en_GB="colour"), srclang="en-US"))
    assert read(path)[0] == [("color", "colour")]
    assert read(path, columns=("en-gb", "en_us"))[0] == [("colour", "color")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_the_encoding_of_the_xml_is_followed(tmp_path, encoding):
    declared = {"utf-8-sig": "utf-8", "cp1252": "windows-1252"}.get(encoding, encoding)
    text = memory(unit(en="cafe", fr="café")).replace('"UTF-8"', f'"{declared}"')
    assert read(write(tmp_path, text.encode(encoding)))[0] == [("cafe", "café")]


def test_a_compressed_memory_is_read(tmp_path):
    assert read(write(tmp_path, gzip.compress(memory(*UNITS).encode()), "a.TMX.gz"))[0] == PAIRS


def test_inline_codes_are_no_text(tmp_path):
    marked = (
        'a <bpt i="1">&lt;b&gt;<sub>alt</sub></bpt>bold<ept i="1">&lt;/b&gt;</ept> <hi>word</hi>'
    )
    text = memory(unit(en=f"{marked}<ph/>", vi="<![CDATA[<b>]]> b\n  c"))
    assert read(write(tmp_path, text))[0] == [("a bold word", "<b> b   c")]


def test_html_entities_of_the_unread_dtd_are_characters(tmp_path):
    assert read(write(tmp_path, memory(unit(en="a&eacute;b", vi="x"))))[0] == [("aéb", "x")]


def test_an_empty_segment_is_dropped(tmp_path):
    _, report = read(write(tmp_path, memory(*UNITS, unit(en="", vi="x"))))
    assert report.dropped["empty source"].count == 1


LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
HOSTILE = {
    "billion laughs": (
        memory(unit(en="&a9;", vi="x"), doctype=f'<!DOCTYPE tmx [<!ENTITY a0 "ha">{LAUGHS}]>'),
        "DOCTYPE",
    ),
    "external entity": (
        memory(
            unit(en="&x;", vi="x"),
            doctype='<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        ),
        "DOCTYPE",
    ),
    "default attributes": (
        memory(*UNITS, doctype=f'<!DOCTYPE tmx [<!ATTLIST tu a CDATA "{"x" * 9999}">]>'),
        "DOCTYPE",
    ),
    "deep nesting": (memory("<a>" * 200_000), "nested more than 100 deep"),
    "a long tag": (memory(f'<tu a="{"x" * 4_000_000}">'), "more than 1,048,576 bytes"),
    "a long comment": (memory(f"<!--{'x' * 4_000_000}-->"), "more than 1,048,576 bytes"),
    "another root": ("<xliff><tu/></xliff>", "no TMX: it begins with <xliff>"),
    "cut short": (memory(*UNITS)[:-30], "not well-formed XML"),
    "text": ("Hello\n", "not well-formed XML"),
    "empty": ("", "is empty"),
    "no unit": (memory(), "no usable pair"),
    "no language": (memory("<tu><tuv><seg>a</seg></tuv></tu>"), "1 languages"),
    "unknown encoding": ('<?xml version="1.0" encoding="x-none"?><tmx/>', "; "),
    "multi-byte encoding": ('<?xml version="1.0" encoding="shift_jis"?><tmx/>', "; "),
    "control character": (memory(unit(en="a\x01b", vi="x")), "not well-formed XML"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_memory_is_refused_in_one_line(tmp_path, name):
    text, pattern = HOSTILE[name]
    with pytest.raises(UserError, match=pattern) as caught:
        read(write(tmp_path, text))
    assert str(caught.value).isprintable()
    assert "; " in str(caught.value)


def test_memory_does_not_grow_with_a_segment_or_the_file(tmp_path):
    part = unit(en="x" * 1_000_000, vi="y")
    text = memory(part * 20, *[unit(en=f"line {n}", vi=f"dòng {n}") for n in range(5000)])
    path = write(tmp_path, gzip.compress(text.encode()), "a.tmx.gz")
    del text
    tracemalloc.start()
    try:
        report = ReadReport()
        count = sum(1 for _ in read_pairs(path, report=report))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 5000
    assert report.dropped[f"source of more than {MAX_CHARACTERS:,} characters"].count == 20
    assert peak < 6_000_000
