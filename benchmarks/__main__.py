"""`python -m benchmarks COMMAND`: run a benchmark and write its result file."""

import argparse
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import (
    RESULTS,
    import_results,
    replace_block,
    write_device_result,
    write_result,
)


@dataclass(frozen=True)
class Argument:
    """A positional argument of a command; `default` makes it optional."""

    name: str
    help: str
    type: Callable[[str], object] = str
    default: object = None


@dataclass(frozen=True)
class Command:
    """What a command measures, how it runs, and its arguments."""

    help: str
    run: Callable[[Namespace], None]
    arguments: Sequence[Argument] = ()


def _startup(options: Namespace) -> None:
    from benchmarks.end_to_end import startup_time

    print(write_result("startup", startup_time()))


def _demo(options: Namespace) -> None:
    from benchmarks.end_to_end import demo

    print(write_result("demo", demo()))


def _first_minutes(options: Namespace) -> None:
    from benchmarks.first_minutes import first_minutes, write_page

    print(write_result("first-five-minutes", first_minutes()), write_page())


def _sizes(options: Namespace) -> None:
    from benchmarks.first_minutes import sizes, write_page

    print(write_result("sizes", sizes()), write_page())


def _quick_ladder(options: Namespace) -> None:
    from benchmarks.end_to_end import quick_ladder

    print(write_result("quick-ladder", quick_ladder()))


def _mechanisms(options: Namespace) -> None:
    from benchmarks.end_to_end import mechanisms

    print(write_result("mechanisms", mechanisms()))


def _skip_gram(options: Namespace) -> None:
    from benchmarks.end_to_end import skip_gram

    print(write_result("skip-gram", skip_gram()))


def _primer(options: Namespace) -> None:
    from benchmarks.primer import primer

    print(write_result("primer", primer()))


def _small_recipes(options: Namespace) -> None:
    from benchmarks.end_to_end import small_recipes

    print(write_result("small-recipes", small_recipes(options.folder)))


def _ladder(options: Namespace) -> None:
    from benchmarks.ladder_page import publish_ladder

    print(*publish_ladder(options.report, options.backwards, options.commit))


def _real_ladder(options: Namespace) -> None:
    from benchmarks.real_ladder_page import publish

    print(*publish())


def _results(options: Namespace) -> None:
    from benchmarks.results_page import publish

    print(publish())


def _serving(options: Namespace) -> None:
    from benchmarks.serving_benchmark import serving

    print(write_result("serving", serving(options.model, options.seconds)))


def _serving_throughput(options: Namespace) -> None:
    from benchmarks.serving_benchmark import throughput

    print(write_result("serving-throughput", throughput(options.model)))


def _goodput(options: Namespace) -> None:
    from benchmarks.goodput_under_failures import goodput

    result = goodput(options.minutes, options.kill_every, standby=bool(options.standby))
    print(write_result("goodput", result))


def _studio_page(options: Namespace) -> None:
    from benchmarks.studio_page import WHAT, studio_page, write_table

    print(write_result(WHAT, studio_page()), write_table())


def _import_parity(options: Namespace) -> None:
    from benchmarks.import_parity import WHAT, import_parity, write_table

    print(write_result(WHAT, import_parity()), write_table())


def _model_page(options: Namespace) -> None:
    from benchmarks.model_page import WHAT, model_page, write_table

    print(write_result(WHAT, model_page()), write_table())


def _exports(options: Namespace) -> None:
    from benchmarks.exports import WHAT, exports, write_table

    print(write_result(WHAT, exports(options.data)), write_table())


def _threads(options: Namespace) -> None:
    from benchmarks.threads import threads

    print(write_result("threads", threads()))


def _translation_cost(options: Namespace) -> None:
    from benchmarks.translation_cost import write_page

    print(write_page())


def _bpe_dropout(options: Namespace) -> None:
    from dhyan.cli import let_idle_threads_sleep

    let_idle_threads_sleep()  # before torch is imported
    import torch

    from benchmarks.bpe_dropout import bpe_dropout

    data = None if options.data == "primer" else Path(options.data)
    figures = bpe_dropout(data, options.rounds, options.seconds)
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    path = write_device_result(
        "bpe-dropout", figures, accelerator=accelerator, folder=options.folder
    )
    print(path, *figures["misses"], sep="\n")


def _large_corpus(options: Namespace) -> None:
    from benchmarks.large_corpus import measure

    print(write_result("large-corpus", measure(options.folder, options.pairs, options.steps)))


def _cpu_translation(options: Namespace) -> None:
    from dhyan.cli import let_idle_threads_sleep

    let_idle_threads_sleep()  # before torch is imported
    from benchmarks.cpu_translation import WHAT, cpu_translation, write_page

    figures = cpu_translation(options.data, options.rounds, options.threads)
    print(write_result(WHAT, figures), write_page(), *figures["misses"], sep="\n")


def _processes(options: Namespace) -> None:
    from benchmarks.expected_efficiency import PAGE
    from benchmarks.processes import BEGIN, END, WHAT, block, processes

    print(write_result(WHAT, processes()))
    replace_block(PAGE, BEGIN, END, block())


def _expected_efficiency(options: Namespace) -> None:
    from benchmarks.expected_efficiency import WHAT, expected_efficiency, write_page

    print(write_result(WHAT, expected_efficiency()), write_page())


def _cpu_training(options: Namespace) -> None:
    from benchmarks.cpu_training import WHAT, cpu_training

    figures = cpu_training(options.data, options.peers, options.rounds, options.threads)
    print(write_result(WHAT, figures), *figures["misses"], sep="\n")


def _cpu_training_quality(options: Namespace) -> None:
    from benchmarks.cpu_training import QUALITY, cpu_training_quality

    print(write_result(QUALITY, cpu_training_quality(options.data, options.threads)))


def _cpu_training_page(options: Namespace) -> None:
    from benchmarks.cpu_training import write_page

    print(write_page())


def _soak_tests(options: Namespace) -> None:
    from benchmarks.soak_tests import run_soak_tests

    exit_codes: dict[str, int] = {}
    for result in run_soak_tests():
        print(write_result("soak-tests", result))
        exit_codes = result["exit_codes"]
    sys.exit(max(exit_codes.values()))


def _determinism(options: Namespace) -> None:
    from benchmarks.bitwise_repeatability import write_determinism

    for path in write_determinism(options.folder):
        print(path)


def _speed(options: Namespace) -> None:
    raise AssertionError("`main` hands these commands to benchmarks.speed.driver")


def _import_results(options: Namespace) -> None:
    print(*import_results(options.folder, options.commit), sep="\n")


def _tables(options: Namespace) -> None:
    from benchmarks.speed.tables import write_page

    print(write_page())


def _task_tables(options: Namespace) -> None:
    from benchmarks.task_tables import write_blocks

    print(*write_blocks(), sep="\n")


def _page_pictures(options: Namespace) -> None:
    from benchmarks.page_pictures import page_pictures

    for path in page_pictures(options.folder):
        print(path, flush=True)


def _check_documents(options: Namespace) -> None:
    from benchmarks.documents import check_documents

    errors = check_documents()
    print(*(errors or ["The documents agree with the result files."]), sep="\n")
    sys.exit(bool(errors))


SPEED_COMMANDS = {
    "hardware-limits": Command("Peak bf16 matrix product and copy rates of the device.", _speed),
    "kernels": Command("Additive attention, forward and backward, beside PyTorch.", _speed),
    "training": Command("Training throughput, beside reference kernels and transformers.", _speed),
    "translation": Command("Greedy and beam search throughput, beside CTranslate2.", _speed),
    "quality": Command("Losses and BLEU of fused and reference kernels.", _speed),
    "scaling": Command("Training throughput by batch size, sentence length and width.", _speed),
}
COMMANDS = {
    "startup": Command("Startup time of the command line.", _startup),
    "demo": Command("`dhyan demo`: duration and scores.", _demo),
    "first-minutes": Command(
        "Clone, `make demo`, own sentence, `make studio`: seconds; sizes of wheel and repository.",
        _first_minutes,
    ),
    "sizes": Command("Sizes of the wheel, of a checkout and of its history.", _sizes),
    "studio-page": Command(
        "`dhyan studio`: seconds to a sentence of one's own, first paint, answers, frames, bytes",
        _studio_page,
    ),
    "import-parity": Command(
        "Imported models beside transformers, CTranslate2 and packages: equal ids and outputs.",
        _import_parity,
    ),
    "page-pictures": Command(
        "Contact sheets of every view and tour step: three widths, two themes, two languages.",
        _page_pictures,
        [Argument("folder", "where the sheets are written", Path)],
    ),
    "translation-cost": Command(
        "GPU hours and euros of a billion sentences, from the newest results, into their page.",
        _translation_cost,
    ),
    "large-corpus": Command(
        "`dhyan data prepare` and `dhyan train` with many pairs made by code; a plan of 10⁹ pairs.",
        _large_corpus,
        [
            Argument("folder", "where the corpus is written, 140 bytes a pair", Path),
            Argument("pairs", "number of pairs", int, 50_000_000),
            Argument("steps", "training steps", int, 200),
        ],
    ),
    "model-page": Command(
        "`dhyan export --to html`: size of the page, its speed in Chromium, equal translations.",
        _model_page,
    ),
    "exports": Command(
        "`dhyan export` to other libraries: 1,000 translations of each beside ours.",
        _exports,
        [Argument("data", "folder with the corpora tatoeba-en-fr and tatoeba-en-hi-large", Path)],
    ),
    "quick-ladder": Command(
        "`dhyan compare --ladder --quick`: duration and report.", _quick_ladder
    ),
    "mechanisms": Command("The commands of docs/reference/mechanisms.md, briefly.", _mechanisms),
    "skip-gram": Command("Training time of skip-gram word vectors.", _skip_gram),
    "primer": Command("Sentence generation rate and variety of the primer.", _primer),
    "small-recipes": Command(
        "Training time and test scores of every small recipe.",
        _small_recipes,
        [Argument("folder", "train, valid and test as .en.xz and .hi.xz", Path)],
    ),
    "ladder": Command(
        "Evaluate the ladder's predictions on two reports; write docs/explanation/ladder.md.",
        _ladder,
        [
            Argument("report", "report.json, English to Hindi", Path),
            Argument("backwards", "report.json, Hindi to English", Path),
            Argument("commit", "commit of the code that trained the models"),
        ],
    ),
    "real-ladder": Command(
        "Write docs/explanation/real-ladder.md from the newest result of experiments.real_ladder.",
        _real_ladder,
    ),
    "results": Command(
        "Write docs/explanation/results.md from the newest results of experiments.real_corpora.",
        _results,
    ),
    "serving": Command(
        "Goodput, latency, fairness and throughput of the server under overload.",
        _serving,
        [
            Argument("model", "folder of a trained model", Path),
            Argument("seconds", "seconds per load level", float, 20.0),
        ],
    ),
    "serving-throughput": Command(
        "Sentences per second of the server beside `dhyan translate`, in turn on one core.",
        _serving_throughput,
        [Argument("model", "folder of a trained model", Path)],
    ),
    "goodput": Command(
        "Share of useful training time when the process is killed periodically.",
        _goodput,
        [
            Argument("minutes", "duration in minutes", float, 10.0),
            Argument("kill_every", "seconds between kills", float, 60.0),
            Argument("standby", "1 with a standby process, 0 without", int, 1),
        ],
    ),
    "threads": Command(
        "Training throughput by threads and wait policy, alone and beside busy processes.", _threads
    ),
    "processes": Command(
        "Training throughput of two processes with a core each, beside one process.", _processes
    ),
    "expected-efficiency": Command(
        "Efficiency on 8, 64 and 512 GPUs, computed from one GPU and link bandwidths.",
        _expected_efficiency,
    ),
    "cpu-translation": Command(
        "Translation on a CPU beside CTranslate2 and PyTorch: throughput, BLEU, startup.",
        _cpu_translation,
        (
            Argument("data", "folder with test_2016_flickr.en and .fr of Multi30k", Path),
            Argument("rounds", "rounds of each system", int, 7),
            Argument("threads", "CPU threads", int, 2),
        ),
    ),
    "cpu-training": Command(
        "Training on a CPU beside eole and OpenNMT-py: throughput, in turn.",
        _cpu_training,
        (
            Argument("data", "folder with Multi30k as train, valid and test_2016_flickr", Path),
            Argument("peers", "python of an environment with eole, OpenNMT-py", Path),
            Argument("rounds", "rounds of each system", int, 7),
            Argument("threads", "CPU threads", int, 2),
        ),
    ),
    "cpu-training-quality": Command(
        "Training on a CPU: losses beside reference kernels, scores in float32 and bfloat16.",
        _cpu_training_quality,
        (
            Argument("data", "folder with Multi30k as train, valid and test_2016_flickr", Path),
            Argument("threads", "CPU threads", int, 2),
        ),
    ),
    "cpu-training-page": Command(
        "Write the newest results of both into docs/how-to/on-a-cpu.md.", _cpu_training_page
    ),
    "bpe-dropout": Command(
        "Training with and without BPE dropout, side by side; segmentation alone.",
        _bpe_dropout,
        (
            Argument("data", "folder with train and valid as .en.xz and .hi.xz", str, "primer"),
            Argument("rounds", "bursts of each variant", int, 3),
            Argument("seconds", "seconds of a burst", float, 8.0),
            Argument("folder", "folder of the result file", Path, RESULTS),
        ),
    ),
    "soak-tests": Command("Run the soak tests; outcome, time and output of each.", _soak_tests),
    "determinism": Command(
        "Bitwise equality of repeated and resumed training, and the cost of it.",
        _determinism,
        [Argument("folder", "folder of the result files", Path, RESULTS)],
    ),
    **SPEED_COMMANDS,
    "import-results": Command(
        "Copy result files of another machine into benchmarks/results.",
        _import_results,
        [
            Argument("folder", "folder of the result files", Path),
            Argument("commit", "commit of the code that was measured"),
        ],
    ),
    "tables": Command("Write the tables and the figure of benchmarks/README.md.", _tables),
    "task-tables": Command("Write the scores into the pages of the tasks.", _task_tables),
    "check-documents": Command("Compare the documents with the result files.", _check_documents),
}


def parse(words: Sequence[str]) -> Namespace:
    """The command and its arguments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.help, description=command.help)
        for argument in command.arguments:
            optional = argument.default is not None
            subparser.add_argument(
                argument.name,
                help=argument.help + (f" (default {argument.default})" if optional else ""),
                type=argument.type,
                default=argument.default,
                nargs="?" if optional else None,
            )
    return parser.parse_args(words)


def main(words: Sequence[str]) -> None:
    """Run one command; those on speed take several names and the options of their driver."""
    if words and words[0] in SPEED_COMMANDS:
        from benchmarks.speed import driver

        driver.main(words)
    else:
        options = parse(words)
        COMMANDS[options.command].run(options)


if __name__ == "__main__":
    main(sys.argv[1:])
