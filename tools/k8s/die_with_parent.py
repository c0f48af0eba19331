"""Become another program that Linux ends as soon as the process that started it ends.

    python die_with_parent.py PROGRAM [ARGUMENT...]

A test run that is killed cannot stop its servers itself. The request to the kernel survives the
exec, so the program keeps this process id. A `preexec_fn` would do the same, but is not safe in a
process with threads. Elsewhere than on Linux it only becomes the other program.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

if sys.platform == "linux":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
os.execv(sys.argv[1], sys.argv[1:])
