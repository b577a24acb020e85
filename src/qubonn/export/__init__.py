"""Trained models as files for other programs: C for small devices, ONNX, Verilog for circuits."""

from qubonn.export.c import device_bytes, to_c
from qubonn.export.onnx import to_onnx
from qubonn.export.verilog import to_verilog

__all__ = ["device_bytes", "to_c", "to_onnx", "to_verilog"]
