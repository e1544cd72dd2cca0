"""Arrays of NumPy, CuPy and PyTorch: where they are, and the few operations that matrices need, by the library they come from."""
import ctypes
import sys

import numpy as np


class NumPy:
    """Arrays of NumPy; CuPy's have the same operations"""

    device = 0  # not 0: on a device

    def __init__(self, module=np):
        self.module = module

    def array(self, a, dtype):
        """A contiguous array of this type; a itself if it is one"""
        return self.module.ascontiguousarray(a, dtype=dtype)

    def empty(self, shape, dtype):
        return self.module.empty(shape, dtype=dtype)

    def address(self, a):
        return a.__array_interface__["data"][0]

    def dtype(self, a):
        return a.dtype

    def wrap(self, address, shape, leading, dtype):
        """The array of shape (columns, length) at this address, where a column begins every `leading` items"""
        if not address:
            return self.empty(shape, dtype)
        buffer = (ctypes.c_char * ((shape[0] - 1) * leading * dtype.itemsize + shape[1] * dtype.itemsize)).from_address(address)
        return np.ndarray(shape, dtype, buffer, strides=(leading * dtype.itemsize, dtype.itemsize))

    def stream(self):
        return None

    def wait(self):
        """Until what has been queued on the stream is done"""


class CuPy(NumPy):
    device = 1

    def array(self, a, dtype):
        return self.module.ascontiguousarray(self.module.asarray(a), dtype=dtype)

    def address(self, a):
        return a.data.ptr

    def wrap(self, address, shape, leading, dtype):
        cuda = self.module.cuda
        memory = cuda.UnownedMemory(address, ((shape[0] - 1) * leading + shape[1]) * dtype.itemsize, None)
        return self.module.ndarray(shape, dtype, cuda.MemoryPointer(memory, 0), strides=(leading * dtype.itemsize, dtype.itemsize))

    def stream(self):
        return self.module.cuda.get_current_stream().ptr

    def wait(self):
        self.module.cuda.get_current_stream().synchronize()


class Torch(NumPy):
    """Tensors of PyTorch"""

    def __init__(self, module, where):
        self.module = module
        self.where = where
        self.device = int(where.type == "cuda")

    def type(self, dtype):
        return getattr(self.module, np.dtype(dtype).name)

    def array(self, a, dtype):
        return self.module.as_tensor(a, dtype=self.type(dtype), device=self.where).detach().resolve_conj().contiguous()

    def empty(self, shape, dtype):
        return self.module.empty(shape, dtype=self.type(dtype), device=self.where)

    def address(self, a):
        return a.data_ptr()

    def dtype(self, a):
        return np.dtype(str(a.dtype).rpartition(".")[2])

    def wrap(self, address, shape, leading, dtype):
        raise NotImplementedError("operators that multiply tensors of PyTorch: use those of CuPy, which share memory with tensors")

    def stream(self):
        return self.module.cuda.current_stream(self.where).cuda_stream if self.device else None


HOST = NumPy()


def kind(a):
    """The library of an array, as one of the classes above, or None"""
    module = type(a).__module__.partition(".")[0]
    if isinstance(a, np.ndarray):
        return HOST
    if module == "cupy":
        return CuPy(sys.modules["cupy"])
    if module == "torch" and a.layout == sys.modules["torch"].strided:
        if a.device.type not in ("cpu", "cuda"):
            raise TypeError(f"a tensor on the device {a.device}: it must be on the host or a CUDA device")
        return Torch(sys.modules["torch"], a.device)
    return None


def known(a):
    """An array of one of the three libraries: a itself, or one that shares the memory of an array of another library"""
    if kind(a):
        return a
    if hasattr(a, "__cuda_array_interface__"):
        import cupy

        return cupy.asarray(a)
    if hasattr(a, "__dlpack_device__"):
        if a.__dlpack_device__()[0] == 1:
            return np.from_dlpack(a)
        import cupy

        return cupy.from_dlpack(a)
    return np.asarray(a)
