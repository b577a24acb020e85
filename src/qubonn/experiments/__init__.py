"""Studies of many runs: what is run, where it is kept, what it says beside the paper."""
