"""Trained models as files for other programs: C for small devices, ONNX for runtimes."""

from qubonn.export.c import to_c
from qubonn.export.onnx import to_onnx

__all__ = ["to_c", "to_onnx"]
