"""The scikit-learn face: numbers and labels in, a committee of -1/+1 networks, labels out.

The names of ``__init__.pyi`` are imported when they are first used: scikit-learn is slow to import.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
