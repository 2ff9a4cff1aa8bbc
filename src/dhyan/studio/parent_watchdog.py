"""`python -m dhyan.studio.parent_watchdog …`: the command line, stopped when its parent is gone.

Standard input is a pipe from the parent. When its other end closes, however the parent ended, the
command gets SIGTERM, and a training saves a checkpoint first.
"""

import os
import runpy
import signal
import threading


def _stop_with_parent() -> None:
    while os.read(0, 1):  # not sys.stdin: its lock would be held when the process ends
        pass
    os.kill(os.getpid(), signal.SIGTERM)


threading.Thread(target=_stop_with_parent, daemon=True).start()
runpy.run_module("dhyan", run_name="__main__")  # by name: the command line is a layer above
