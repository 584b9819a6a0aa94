"""A GPU that is not there: what a program does with one, on a machine that has none.

``python -m tests.simulated_gpu COMMAND ARGS... [--then COMMAND ARGS...]`` runs commands of ``lit-transformer`` in a
process that believes in one CUDA device; ``pytest ARGS...`` or ``FILE.py ARGS...`` run there in place of a command. It
changes torch for the whole process: never import and install it where other tests run.

Tensors that are moved to ``cuda`` say that they lie on ``cuda:0`` and are computed in memory. What a GPU refuses is
refused: tensors of two devices in one operation, but for single numbers and for indices; ``numpy()``; a generator of
the CPU; products of integers. A checkpoint's tensors are marked as a GPU's, so that a CPU reads them only with
``map_location``. Autocast to 16 bits and the scaling of the loss are computed, as Lightning arranges them for a GPU.

It is not simulated how fast a GPU is, how it computes (its kernels round otherwise, and autocast keeps more of its
operations in float32), what it does while the program goes on, its random numbers, its memory, inference mode, several
of them (NCCL), and processes that a command starts. What is made like a tensor of the GPU, but on the CPU
(``zeros_like(x, device="cpu")``), stays on the GPU here.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

CPU, GPU = torch.device("cpu"), torch.device("cuda:0")
NAME = "a GPU that is not there"

_aten = torch.ops.aten
_COPIES = {_aten._to_copy.default, _aten.copy_.default}
_INDEXINGS = {
    _aten.index.Tensor,
    _aten._unsafe_index.Tensor,
    _aten.index_put.default,
    _aten.index_put_.default,
    _aten._index_put_impl_.default,
}
# Besides what is computed number by number: the kernels of a GPU that take a single number from the CPU.
_TAKES_A_NUMBER = {_aten.masked_fill_.Tensor, _aten.masked_fill.Tensor, _aten.fill_.Tensor}
_leaving = False
_PRODUCTS = {_aten.mm.default, _aten.bmm.default, _aten.addmm.default, _aten.baddbmm.default}


class OnGPU(torch.Tensor):
    """A tensor that says that it lies on the GPU.

    Args:
        memory: Its values, a tensor of the CPU that belongs to it alone.
    """

    memory: torch.Tensor

    @staticmethod
    def __new__(cls: type[OnGPU], memory: torch.Tensor) -> OnGPU:
        shape = torch.empty_strided(memory.size(), memory.stride(), dtype=memory.dtype, device="meta")
        # Autograd and autocast treat it as they treat a tensor of the CPU; there is no CUDA in this build to ask.
        made = torch.Tensor._make_subclass(cls, shape, False, dispatch_device=True, device_for_backend_keys=CPU)
        made.memory = memory
        return made

    device = property(lambda self: GPU)
    is_cuda = property(lambda self: True)
    is_cpu = property(lambda self: False)
    is_meta = property(lambda self: False)

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy; use Tensor.cpu() first")

    __array__ = numpy

    def cpu(self, memory_format: torch.memory_format | None = None) -> torch.Tensor:
        return _moved(self, CPU)

    def tolist(self) -> Any:
        return self.memory.tolist()

    def data_ptr(self) -> int:
        return self.memory.data_ptr()

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"OnGPU({self.memory!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        made: torch.Tensor = OnGPU(self.memory.detach().clone())
        if isinstance(self, torch.nn.Parameter):
            made = torch.nn.Parameter(made, self.requires_grad)
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        values = self.memory.detach()
        values.untyped_storage().on_gpu = True  # type: ignore[attr-defined]
        return values.__reduce_ex__(protocol)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _run(func, args, kwargs or {})


class _Simulation(TorchDispatchMode):
    """Sees to it that the tensors that are made on the GPU are `OnGPU`."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Carry out an operation of torch on the device that a GPU's program would have it on."""
    tensors: list[torch.Tensor] = []

    def seen(tensor: torch.Tensor) -> torch.Tensor:
        tensors.append(tensor)
        return tensor.memory if isinstance(tensor, OnGPU) else tensor

    inner_args = _each(args, seen)
    inner_kwargs = {name: _each(value, seen) for name, value in kwargs.items()}
    on_gpu = _result_on_gpu(tensors, kwargs.get("device"))
    _refuse(func, args, tensors, on_gpu, kwargs.get("generator"))
    if kwargs.get("device") is not None:
        inner_kwargs["device"] = CPU
    if inner_kwargs.get("pin_memory"):
        inner_kwargs["pin_memory"] = False
    if func is _aten._pin_memory.default:
        return args[0]
    made = func(*inner_args, **inner_kwargs)
    # What is changed in place, or written into, stays the tensor that was given.
    if func._schema.is_mutable and func._schema.name.endswith("_") and isinstance(args[0], torch.Tensor):
        return args[0]
    if "out" in kwargs:
        return kwargs["out"]
    return _each(made, OnGPU) if on_gpu else made


def _each(value: Any, function: Callable[[torch.Tensor], Any]) -> Any:
    """Return a value with a function applied to each of its tensors."""
    # What torch has for that, torch.utils._pytree, takes most of the time.
    if isinstance(value, torch.Tensor):
        return function(value)
    return type(value)(_each(item, function) for item in value) if isinstance(value, (list, tuple)) else value


def _result_on_gpu(tensors: Sequence[torch.Tensor], device: Any) -> bool:
    if device is not None and torch.device(device).type == "cuda":
        return True
    # What torch's C++ calls the CPU is what `OnGPU.__new__` told it; a tensor leaves the GPU by `_moved` alone.
    return not _leaving and any(isinstance(tensor, OnGPU) for tensor in tensors)


def _moved(tensor: torch.Tensor, device: torch.device, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Return a copy on a device."""
    global _leaving
    _leaving = device.type == "cpu"
    try:
        return _aten._to_copy(tensor, dtype=dtype or tensor.dtype, device=device)
    finally:
        _leaving = False


def _refuse(func: Any, args: Sequence[Any], tensors: Sequence[torch.Tensor], on_gpu: bool, generator: Any) -> None:
    """Raise what a GPU raises, or would."""
    there = [tensor for tensor in tensors if isinstance(tensor, OnGPU)]
    here = [tensor for tensor in tensors if not isinstance(tensor, OnGPU)]
    if generator is not None and on_gpu and generator.device.type == "cpu":
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    if func in _PRODUCTS and there and not there[0].is_floating_point():
        raise RuntimeError(f"{func} not implemented for {there[0].dtype} on a GPU")
    if func in _COPIES or not there:
        return
    if func in _INDEXINGS:
        if not isinstance(args[0], OnGPU):
            raise RuntimeError(f"{func}: indices should be on the CPU, as the indexed tensor is")
        here = [] if len(args) < 3 or isinstance(args[2], OnGPU) or not args[2].dim() else [args[2]]
    elif torch.Tag.pointwise in func.tags or func in _TAKES_A_NUMBER:
        here = [tensor for tensor in here if tensor.dim()]
    if here:
        raise RuntimeError(
            f"{func}: expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu: "
            f"{[(str(tensor.device), tuple(tensor.shape)) for tensor in tensors]}"
        )


def install() -> None:
    """Let this process have a GPU; there is no way back."""
    _let_tensors_move()
    _let_checkpoints_name_the_device()
    _let_modes_compute()
    _let_torch_believe()
    # A module that moves is given new parameters, not new values in the old ones, which remain on their device.
    torch.__future__.set_swap_module_params_on_conversion(True)
    _Simulation().__enter__()


def _let_tensors_move() -> None:
    to, parse = torch.Tensor.to, torch._C._nn._parse_to

    def parsed(*args: Any, **kwargs: Any) -> Any:
        like = [args[0].device, args[0].dtype] if args and isinstance(args[0], torch.Tensor) else args[:1]
        device, *rest = parse(*like, *args[1:], **kwargs)
        # The C++ would ask CUDA which device it is without a number.
        return (GPU if device is not None and device.type == "cuda" else device, *rest)

    def to_there(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        copy = kwargs.pop("copy", False)
        device, dtype, *_ = parsed(*args, **kwargs)
        if not isinstance(self, OnGPU):
            return to(self, device, dtype, copy=copy)
        if not copy and dtype in (None, self.dtype) and (device is None or device.type == "cuda"):
            return self
        return _moved(self, device or GPU, dtype)

    def made_there(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def made(*args: Any, device: Any = None, **kwargs: Any) -> torch.Tensor:
            tensor = make(*args, **kwargs)
            if device is None or (isinstance(tensor, OnGPU) and torch.device(device).type == "cuda"):
                return tensor
            return _moved(tensor, torch.device(device))

        return made

    def new_tensor(self: torch.Tensor, data: Any, **kwargs: Any) -> torch.Tensor:
        return torch.tensor(data, **{"device": self.device, "dtype": self.dtype, **kwargs})

    # These ask the C++ of a device that this build of torch lacks.
    torch._C._nn._parse_to = parsed
    torch.Tensor.to = to_there  # type: ignore[assignment,method-assign]
    torch.Tensor.cuda = lambda self, *args, **kwargs: to_there(self, GPU)  # type: ignore[method-assign]
    torch.tensor, torch.as_tensor = made_there(torch.tensor), made_there(torch.as_tensor)
    torch.Tensor.new_tensor = new_tensor  # type: ignore[assignment,method-assign]


def _let_checkpoints_name_the_device() -> None:
    def tag(storage: Any) -> str | None:
        return str(GPU) if getattr(storage, "on_gpu", False) else None

    def place(storage: Any, location: str) -> Any:
        return storage if location.startswith("cuda") else None

    # Asked before torch's own.
    torch.serialization.register_package(0, tag, place)


def _let_modes_compute() -> None:
    init = torch.autocast.__init__

    def begin(self: torch.autocast, device_type: str, *args: Any, **kwargs: Any) -> None:
        init(self, "cpu" if device_type == "cuda" else device_type, *args, **kwargs)

    torch.autocast.__init__ = begin  # type: ignore[method-assign]
    # Tensors of inference mode refuse to be seen as others.
    torch.inference_mode = lambda mode=True: torch.set_grad_enabled(not mode)  # type: ignore[assignment,misc,return-value]


def _let_torch_believe() -> None:
    answers: dict[str, Any] = {
        "is_available": True,
        "is_bf16_supported": True,
        # Asked by optimizers of older versions, in a build for CUDA.
        "is_current_stream_capturing": False,
        "device_count": 1,
        "current_device": 0,
        "get_device_name": NAME,
        "get_device_capability": (9, 0),
        "max_memory_allocated": 0,
        "mem_get_info": (8 << 30, 8 << 30),
        "get_rng_state": torch.zeros(16, dtype=torch.uint8),
        "get_rng_state_all": [],
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *args, answer=answer, **kwargs: answer)
    commands = ("_lazy_init", "set_device", "empty_cache", "synchronize", "reset_peak_memory_stats")
    for name in (*commands, "manual_seed", "manual_seed_all", "set_rng_state", "set_rng_state_all"):
        setattr(torch.cuda, name, lambda *args, **kwargs: None)
    # A build of torch for CUDA would ask the driver.
    torch.optim.Optimizer._accelerator_graph_capture_health_check = lambda self: None  # type: ignore[method-assign]


def main(args: Sequence[str]) -> None:
    """Run commands on the simulated GPU, one after another.

    Args:
        args: The command lines, with ``--then`` between them.
    """
    install()
    rest = list(args)
    while rest:
        end = rest.index("--then") if "--then" in rest else len(rest)
        command, rest = rest[:end], rest[end + 1 :]
        if command[0] == "pytest":
            import pytest

            if status := pytest.main(command[1:]):
                raise SystemExit(status)
        elif command[0].endswith(".py"):
            sys.argv = command
            runpy.run_path(command[0], run_name="__main__")
        else:
            from lit_transformer.__main__ import main as lit_transformer

            lit_transformer(command)


if __name__ == "__main__":
    # As a module of its own name, so that what runs here finds the same `OnGPU`.
    from tests.simulated_gpu import main as run

    run(sys.argv[1:])
