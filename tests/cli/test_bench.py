import sys
from collections.abc import Callable
from typing import Any

import pytest

from qubonn.cli import bench


@pytest.mark.parametrize("has_peer", [True, False])
def test_the_benchmark_measures_what_it_says(
    call_json: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, has_peer: bool
) -> None:
    if has_peer:
        pytest.importorskip("dwave.samplers", reason="needs dwave-samplers")
    else:
        monkeypatch.setitem(sys.modules, "dwave.samplers", None)
    for name, value in {"SWEEPS": 5, "PEER_READS": 1, "IMAGES": 50}.items():
        monkeypatch.setattr(bench, name, value)
    monkeypatch.setattr(bench, "LAYERS", (70, 9, 3))
    said = call_json("bench", "--repeats", 2)
    assert len(said["measured"]) == 5 + has_peer
    for measured in said["measured"].values():
        assert len(measured["values"]) == 2
        assert min(measured["values"]) > 0
    assert int(said["machine"]["cores"]) > 0


def test_the_float32_forward_pass_of_the_benchmark_is_the_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import numpy as np

    import qubonn as qn

    monkeypatch.setattr(bench, "LAYERS", (70, 9, 3))
    network = qn.BinaryNetwork.random(qn.Topology.dense(70, 9, 3), seed=0)
    first, second = bench._matrices(network)
    spins = np.where(np.random.default_rng(0).normal(size=(20, 70)) > 0, 1.0, -1.0)
    hidden = np.where(spins @ first + network.bias_spins[:9] > 0, 1.0, -1.0)
    outputs = hidden @ second + network.bias_spins[9:] > 0
    assert np.array_equal(outputs, network.predict_outputs(spins) > 0)
