"""QuboClassifier and scikit-learn's classifiers on ordinary tables; see command.py.

    python benchmarks/tables

One thread for all methods, unless the environment says otherwise.
"""

import os
import sys
from pathlib import Path

for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before they are read
sys.path[0] = str(Path(__file__).resolve().parent.parent)  # its files are a package, tables

from tables.command import main  # noqa: E402 - only now can it be found

if __name__ == "__main__":
    main()
