"""Annealing on a GPU by OpenCL: the kernel of `anneal.cl`. The one file that imports pyopencl.

Packed QUBO -> a function that advances packed states as the CPU's kernels do, bit for bit.
"""

from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import MissingExtra, RangeError


class OpenClSweeps:
    """One QUBO on one device. The first GPU is used; without one, any device of OpenCL, as PoCL."""

    def __init__(self, lists: Any, order: NDArray[np.uint32], streams: Any) -> None:
        self.cl, self.streams = _pyopencl(), streams
        device = _device(self.cl)
        self.name = str(device.name).strip()
        self._context = self.cl.Context([device])
        self._queue = self.cl.CommandQueue(self._context)
        kind = "short" if lists.couplings.dtype == np.int16 else "int"
        constants = [f"-DC{i}={float(getattr(streams, f'C{i}')).hex()}f" for i in range(6)]
        source = files("qubonn.samplers").joinpath("anneal.cl").read_text("utf-8")
        program = self.cl.Program(self._context, source)
        try:
            built = program.build(options=[f"-DFIELD={kind}", *constants])
        except self.cl.RuntimeError as error:  # an old driver may not know a new processor
            raise RangeError(
                f'device="gpu" needs a driver that can compile for {self.name}; it says '
                f'{str(error).splitlines()[0]:.200}: install a newer one, or use device="cpu"'
            ) from error
        self._kernel = self.cl.Kernel(built, "anneal")
        arrays = (order, lists.linear, lists.starts, lists.columns, lists.couplings)
        self._problem = [self._copy(array) for array in arrays]
        self._count, self._type = len(lists.linear), lists.linear.dtype

    def advance(self, packed: Any, energies: Any, generators: Any, temperatures: Any) -> None:
        """Sweep once at each temperature (in units); states, energies and generators in place."""
        lanes = energies.shape[1]
        bits = self.streams.unpack_states(packed, energies.size).astype(np.uint8)
        states = np.ascontiguousarray(bits.T)
        hottest, two = self.streams.HOTTEST, self.streams.LN2
        scales = np.minimum(temperatures, hottest).astype(np.float32) * two
        parts = [self._copy(array) for array in (states, energies, generators)]
        room = self.cl.Buffer(
            self._context, self.cl.mem_flags.READ_WRITE, max(states.size * self._type.itemsize, 1)
        )
        sizes = [np.uint32(value) for value in (len(scales), self._count, lanes)]
        self._kernel(
            self._queue, (energies.size,), None,
            parts[0], room, parts[1], parts[2], *self._problem, self._copy(scales), *sizes,
        )  # fmt: skip
        for array, part in zip((states, energies, generators), parts, strict=True):
            if array.size:
                self.cl.enqueue_copy(self._queue, array, part)
        packed[:] = self.streams.pack_states(states.T.astype(np.int8), lanes)

    def _copy(self, array: NDArray[Any]) -> Any:
        flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
        whole = np.ascontiguousarray(array) if array.size else np.zeros(1, array.dtype)
        return self.cl.Buffer(self._context, flags, hostbuf=whole)


def _pyopencl() -> Any:
    try:
        import pyopencl
    except ImportError:
        raise MissingExtra.of('SimulatedAnnealing(device="gpu")', "pyopencl", "gpu") from None
    return pyopencl


def _device(cl: Any) -> Any:
    try:
        devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error:
        devices = []
    if not devices:
        raise RangeError(
            'device="gpu" needs a driver for OpenCL, and none is installed: install that of the '
            "graphics card, or  pip install 'pyopencl[pocl]'  for a device that runs on the CPU"
        )
    return next((one for one in devices if one.type & cl.device_type.GPU), devices[0])
