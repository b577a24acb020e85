"""What all tests need."""

import signal

from hypothesis import settings

# a busy machine must not fail a test that is only slow
settings.register_profile("qubonn", deadline=None)
settings.load_profile("qubonn")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # shells start background jobs deaf to Ctrl-C, and so would be the processes that tests start
    signal.signal(signal.SIGINT, signal.default_int_handler)
