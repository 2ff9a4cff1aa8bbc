"""The exit codes, all of them."""

from enum import IntEnum


class Exit(IntEnum):
    """What a command's exit code says."""

    DONE = 0
    """all is well"""
    BROKEN = 1
    """a fault of dhyan's own, with a traceback; please report it"""
    MISTAKE = 2
    """something you can mend: the one line on stderr names the place and the remedy"""
    UNHEARD = 141
    """whoever read the output left early, as in `| head`"""
    INTERRUPTED = 130
    """stopped by Ctrl-C; a training run has saved a checkpoint and goes on with --resume"""
    TERMINATED = 143
    """stopped by SIGTERM, likewise"""
