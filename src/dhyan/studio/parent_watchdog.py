"""`python -m dhyan.studio.parent_watchdog …` is the command line, until whoever started it is gone.

Standard input is the tether: when its other end closes, however that process ended, the command is
told to stop as by SIGTERM, and a training saves a checkpoint first.
"""

import os
import runpy
import signal
import threading


def _hold() -> None:
    while os.read(0, 1):  # not sys.stdin: its lock would be held when the process ends
        pass
    os.kill(os.getpid(), signal.SIGTERM)


threading.Thread(target=_hold, daemon=True).start()
runpy.run_module("dhyan", run_name="__main__")  # by name: the command line is a floor above
