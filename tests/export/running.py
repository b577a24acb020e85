"""Run ONNX models."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray


def run_onnx(model: Any, inputs: NDArray[Any]) -> list[NDArray[Any]]:
    """All results for some inputs, by onnxruntime on one thread."""
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    data = model.SerializeToString()
    session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    (source,) = session.get_inputs()
    kind = {"tensor(float)": np.float32, "tensor(int8)": np.int8}[source.type]
    results: list[NDArray[Any]] = session.run(None, {source.name: inputs.astype(kind)})
    return results
