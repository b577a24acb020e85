"""What the program's exit code says.  1 is Python's own, for a bug of ours."""

OK = 0
WRONG = 2  # usage, or a file that cannot be read or written; nothing was changed
NOT_REACHED = 3  # the result is written, but it is worse than was asked for
INTERRUPTED = 130  # Ctrl-C; the best so far is written if there was any
TERMINATED = 143  # SIGTERM; treated like Ctrl-C
