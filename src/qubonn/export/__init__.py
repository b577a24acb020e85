"""Trained models as files for other programs: C for small devices, ONNX for runtimes."""

from qubonn.export.c import device_bytes, to_c
from qubonn.export.onnx import to_onnx

__all__ = ["device_bytes", "to_c", "to_onnx"]
