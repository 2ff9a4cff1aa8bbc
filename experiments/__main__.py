"""`python -m experiments NAME FOLDER`: train in FOLDER what a lesson shows and write its snapshot.

NAME is a lesson with a snapshot (bahdanau, luong, rnn_layer_probes, paragraph_probes, multi_head,
gravity, idioms, word_senses, task_specific_vectors, bottleneck, seq2seq_improvements, pp_attachment,
long_output, perspectives), `all` of them, or `mixer`, which needs no FOLDER: it tests whether learned
queries, keys and values are needed to disambiguate words, and writes a result file.

`python -m experiments depth FOLDER [OUT [STEPS]]` trains in FOLDER stacks of one, two and four LSTM
layers of equal width and writes its result file into OUT; called again, it resumes. Without FOLDER
it writes the newest such result into the snapshot of the lesson seq2seq_improvements.
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
        case ["depth"]:
            from experiments.seq2seq_improvements import write_depth_snapshot

            print(write_depth_snapshot())
        case ["depth", folder, *out]:
            from benchmarks.report import RESULTS
            from experiments.depth import STEPS, measure_depth

            steps = int(out[1]) if len(out) > 1 else STEPS
            print(measure_depth(Path(folder), Path(out[0]) if out else RESULTS, steps=steps))
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
