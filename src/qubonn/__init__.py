"""Train neural networks whose weights, biases and activations are all -1 or +1, as a QUBO.

The stub ``__init__.pyi`` names every public name once; each is imported when it is first used, so
``import qubonn`` stays quick.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, _, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
