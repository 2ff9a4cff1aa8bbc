"""No test sentence is trained on unnoticed."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from dhyan.config import Data
from dhyan.data.leakage import Lookout
from dhyan.data.pairs import Pair
from dhyan.data.read_text import said
from dhyan.data.sources import read_once, tested_files
from dhyan.errors import UserError

logger = logging.getLogger(__name__)

REMEDY = "take them out of one of the two, or go on all the same with --allow-leakage"


def check_leaks(
    data: Data, validation: Sequence[Pair], trained: Iterable[tuple[str, Iterable[Pair]]]
) -> None:
    """Refuse to train on sentences of the sets that are named to validate or test on.

    `trained` are the training texts by their names. Where leaks are allowed they are said.
    """
    lookout, named = Lookout(), False
    if data.valid_source:
        lookout.expect(validation, said(data.valid_source))
        named = True
    if own := tested_files(data):
        lookout.expect(read_once(own, stream=False)[0], said(data.test_source))
        named = True
    if not named:
        return
    for name, pairs in trained:
        lookout.see(pairs, said(Path(name)))
    leaks = lookout.leaks()
    if leaks.telling and not data.allow_leakage:
        raise UserError(f"{leaks}; {REMEDY}")
    if leaks.all:
        logger.warning(f"{leaks}: {'allowed' if leaks.telling else 'short ones, as chance has it'}")
