"""Translate folders of many files: a ledger of shards, worked off by processes, Dask or Ray.

>>> job = make_job("en-hi", beam=1)
>>> list(translate_shards("in", "out", job))[-1].shards  # doctest: +SKIP
200
"""

from dhyan.batch_translation.datasets import translate_bag as translate_bag
from dhyan.batch_translation.datasets import translate_dataframe as translate_dataframe
from dhyan.batch_translation.datasets import translate_dataset as translate_dataset
from dhyan.batch_translation.job import TranslationJob as TranslationJob
from dhyan.batch_translation.job import make_job as make_job
from dhyan.batch_translation.ledger import Ledger as Ledger
from dhyan.batch_translation.ledger import Record as Record
from dhyan.batch_translation.run import Engine as Engine
from dhyan.batch_translation.run import Progress as Progress
from dhyan.batch_translation.run import translate_shards as translate_shards
