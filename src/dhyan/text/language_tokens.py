"""The language tokens of multilingual models (`__hi__`, `hin_Deva`, `hi_IN`), by language code."""

import re
from collections.abc import Sequence

from dhyan.errors import UserError, spell, spell_option
from dhyan.safe_io.json_toml import safe_repr
from dhyan.text.languages import LANGUAGE_NAMES, LONG_CODES

TOKEN = re.compile(r"__([a-z]{2,8})__|([a-z]{2,3})_(?:[A-Z]{2}|[A-Z][a-z]{3})")
INDIVIDUAL = dict(  # ISO 639-3 codes of NLLB-200 that languages.LONG_CODES lacks
    entry.split()
    for entry in (
        "afr af, aka ak, amh am, arb ar, asm as, ayr ay, azj az, bak ba, bam bm, bel be, bod bo, "
        "bos bs, bul bg, cat ca, cym cy, dzo dz, epo eo, est et, eus eu, ewe ee, fao fo, fij fj, "
        "fuv ff, gaz om, gla gd, gle ga, glg gl, grn gn, hat ht, hau ha, hrv hr, hye hy, ibo ig, "
        "isl is, jav jv, kas ks, kat ka, kaz kk, khk mn, khm km, kik ki, kin rw, kir ky, kmr ku, "
        "knc kr, kon kg, lao lo, lim li, lin ln, lit lt, ltz lb, lug lg, lvs lv, mkd mk, mlt mt, "
        "mri mi, mya my, nno nn, nob nb, npi ne, nya ny, oci oc, ory or, pbt ps, pes fa, plt mg, "
        "quy qu, run rn, sag sg, san sa, sin si, slk sk, slv sl, smo sm, sna sn, snd sd, som so, "
        "sot st, als sq, srd sc, srp sr, ssw ss, sun su, swe sv, swh sw, tat tt, tgk tg, tgl tl, "
        "tir ti, tsn tn, tso ts, tuk tk, twi tw, uig ug, uzn uz, wol wo, xho xh, ydd yi, yor yo, "
        "zsm ms, zul zu"
    ).split(", ")
)
M2M100 = tuple(  # of the 418M and 1.2B models, in the order of their ids
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha "
    "he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my "
    "ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz "
    "vi wo xh yi yo zh zu".split()
)
SHOWN = 12  # languages in an error


def is_language_token(token: str) -> bool:
    """Whether a token is spelled like that of a language."""
    return bool(TOKEN.fullmatch(token))


def code_of(token: str) -> str:
    """The language code of a token in the form of ISO 639-1, or the token's own if it has none."""
    match = TOKEN.fullmatch(token)
    code = (match[1] or match[2]) if match else token
    return LONG_CODES.get(code, INDIVIDUAL.get(code, code))


def find_language(language: str, tokens: Sequence[str], *, place: str, side: str) -> str:
    """The token of a language, which is named by its code (`hi`) or by the token (`hin_Deva`)."""
    codes = sorted({code_of(token) for token in tokens})
    listed = ", ".join(codes[:SHOWN]) + (f" and {len(codes) - SHOWN} more" if codes[SHOWN:] else "")
    if not language:
        how = spell(
            command_line=f"dhyan import {place} OUT --source-language en --target-language hi",
            python="import_model(folder, out, languages=('en', 'hi')) of dhyan.interop.import_model",
        )
        raise UserError(
            f"{place}: is a multilingual model; import it with a source and a target language, as in "
            f"{how} (it has {listed})"
        )
    for names in (
        {token: token for token in tokens},
        {token.strip("_"): token for token in tokens},
    ):
        if language in names:
            return names[language]
    found = [token for token in tokens if code_of(token) == code_of(language.lower())]
    if not found:
        raise UserError(f"{place}: has no language {safe_repr(language)}; it has {listed}")
    if len(found) > 1:
        raise UserError(
            f"{place}: has {', '.join(found)} for {safe_repr(language)}; name one of them, as in "
            f"{spell_option(f'{side}_language', found[0])}"
        )
    return found[0]


def known_code(token: str) -> str:
    """The language of a token if it has a code of ISO 639-1, which the rest of a recipe uses."""
    code = code_of(token)
    return code if code in LANGUAGE_NAMES else ""
