"""Exit codes of the commands."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes."""

    SUCCESS = 0
    """success"""
    BUG = 1
    """a bug of dhyan, with a traceback; please report it"""
    USER_ERROR = 2
    """a mistake you can correct: stderr names the place and the remedy, a line per problem"""
    CLOSED_PIPE = 141
    """the reader of the output closed it, as in `| head`"""
    INTERRUPTED = 130
    """stopped by Ctrl-C; a training run has saved a checkpoint and continues with --resume"""
    TERMINATED = 143
    """stopped by SIGTERM, likewise"""
