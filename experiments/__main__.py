"""`python -m experiments NAME FOLDER`: train in FOLDER what a lesson shows and write its snapshot.

NAME is a lesson with a snapshot (bahdanau, luong, rnn_layer_probes, multi_head, gravity, idioms,
word_senses, task_specific_vectors, bottleneck, seq2seq_improvements, pp_attachment), `all` of them
(59 training runs, ten minutes on an H200), or `mixer`, which needs no FOLDER: it tests whether learned
queries, keys and values are needed to disambiguate words, and writes a result file.
"""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path


def measure_mixers() -> object:
    """The experiment of `experiments.mixer`, on every core."""
    import torch

    from experiments.mixer import mixer

    with ProcessPoolExecutor(
        os.cpu_count(), get_context("spawn"), torch.set_num_threads, (1,)
    ) as pool:
        return mixer(each=pool.map)


def main(words: list[str]) -> None:
    """Run the experiment that the command line names."""
    match words:
        case ["mixer"]:
            from benchmarks.ladder_page import PAGE, newest_page
            from benchmarks.report import write_result

            print(write_result("mixer", measure_mixers()))
            PAGE.write_text(newest_page(), encoding="utf-8")
        case [name, folder, *commit]:
            from experiments.snapshots import make_snapshots, snapshots

            known = snapshots(Path(folder))
            if name != "all" and name not in known:
                sys.exit(
                    f"unknown experiment {name!r}; choose one of {', '.join(known)}, all, mixer"
                )
            names = () if name == "all" else (name,)
            make_snapshots(Path(folder), *names, commit=commit[0] if commit else "")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
