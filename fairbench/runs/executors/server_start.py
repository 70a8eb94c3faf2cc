"""Imported first by the fork server, ahead of the libraries that :mod:`.preload` imports.

Ctrl-C reaches the whole process group, and the driver alone decides what it means. Garbage is not
collected while libraries load: a quarter of that time would go into it, and there is none.
"""

import gc
import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
gc.disable()
