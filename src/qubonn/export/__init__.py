"""Trained models as files for other programs: C, MicroPython, ONNX, and Verilog for circuits."""

from qubonn.export.c import device_bytes, to_arduino, to_c
from qubonn.export.micropython import to_micropython
from qubonn.export.onnx import to_onnx
from qubonn.export.verilog import to_verilog

__all__ = ["device_bytes", "to_arduino", "to_c", "to_micropython", "to_onnx", "to_verilog"]
