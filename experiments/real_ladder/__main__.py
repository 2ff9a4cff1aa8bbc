"""`python -m experiments.real_ladder prepare|train|score`: the ladder on real corpora, by seed.

`prepare` writes the encoded corpora, test sets and recipes to `--prepared`, a folder of a few MB.
`train` trains and tests every model with every seed, many processes at once on one device, until
`--seconds` are over, and packs the results into `--archive`; called again, it resumes. `score` reads
such archives and writes the result file.
"""

import argparse
import os
import sys
from pathlib import Path

from benchmarks.report import RESULTS

DATA = Path(os.environ.get("DHYAN_DATA") or "../shared/data")


def main() -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m experiments.real_ladder", description=__doc__)
    parser.add_argument("step", choices=("prepare", "train", "score"))
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", help="default: all")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of corpora ($DHYAN_DATA)")
    parser.add_argument("--prepared", type=Path, default=Path("build/real-ladder"))
    parser.add_argument("--runs", type=Path, default=Path("build/real-ladder-runs"))
    parser.add_argument("--archive", type=Path, default=Path("build/real-ladder.tar.gz"))
    parser.add_argument(
        "--finished", type=Path, nargs="*", default=[], help="archives to go on from"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--rungs", nargs="+", default=[], help="default: all models")
    parser.add_argument("--steps", type=int, default=0, help="default: those of the corpus")
    parser.add_argument("--jobs", type=int, default=26, help="processes at once")
    parser.add_argument("--seconds", type=float, default=540, help="stop all after this time")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--test-sentences", type=int, default=0, help="of prepare; default: all")
    parser.add_argument(
        "--commit", default="HEAD", help="of score: what the runs were trained with"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result file")
    given = parser.parse_args()
    if given.step == "score":
        from experiments.real_ladder.score import write_scores

        print(write_scores(given.finished, given.prepared, given.commit, given.results))
        return
    from experiments.real_ladder.corpora import CORPORA, prepare_corpus, prepared_plan

    names = given.corpora or list(CORPORA)
    if given.step == "prepare":
        for name in names:
            plan = prepare_corpus(name, given.data, given.prepared / name, given.test_sentences)
            for entry in plan.entries:
                print(f"{name} {entry.name}: {entry.parameters:,} parameters", flush=True)
        return
    from experiments.real_ladder.train import LadderRun, train_all, unpack

    for archive in given.finished:
        unpack(archive, given.runs)
    rungs = {name: prepared_plan(given.prepared / name, given.runs / name) for name in names}
    runs = [
        LadderRun(
            given.prepared / name,
            given.runs / name,
            entry.name,
            seed,
            given.steps or CORPORA[name].steps,
            given.device,
        )
        for seed in given.seeds
        for name in names
        for entry in rungs[name].entries
        if not given.rungs or entry.name in given.rungs
    ]
    unfinished = train_all(runs, given.jobs, given.seconds, given.archive)
    print(f"{len(runs) - len(unfinished)} of {len(runs)} finished, in {given.archive}", flush=True)
    if unfinished:
        print(f"unfinished: {', '.join(unfinished)}", flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
