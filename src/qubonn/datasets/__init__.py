"""Small data sets as arrays of -1 and +1, made from a seed and never downloaded."""

from qubonn.datasets.letters import IMAGE_SHAPE, Letters, as_text, letters

__all__ = ["IMAGE_SHAPE", "Letters", "as_text", "letters"]
