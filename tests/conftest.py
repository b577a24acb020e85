"""What all tests need."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # shells start background jobs deaf to Ctrl-C, and so would be the processes that tests start
    signal.signal(signal.SIGINT, signal.default_int_handler)
