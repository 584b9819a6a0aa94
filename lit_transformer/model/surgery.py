"""Changes to the components of a model. Temporary ones are context managers that leave no trace."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from lit_transformer.components import select
from lit_transformer.data.batch import Batch
from lit_transformer.errors import UserError
from lit_transformer.model.protocol import AnalysableModel, Component


def component_parameters(model: AnalysableModel, component: str, include_norm: bool = False) -> dict[str, nn.Parameter]:
    """Return the weights that belong to a component, by their names in the model's state (method.md 0.4).

    These are the weights and biases of its projections or of its feed-forward network; a tensor that is used outside
    of the component too never belongs to it.

    Args:
        model: The model.
        component: Id of the component.
        include_norm: Its LayerNorm belongs to it too.

    Raises:
        UserError: The model has no such component.
    """
    sublayer = _sublayer(model, component)
    prefix = next(name for name, module in model.named_modules() if id(module) == id(sublayer)) + "."
    # By their memory: two parameters may also share that.
    elsewhere = {
        parameter.data_ptr()
        for name, parameter in model.named_parameters(remove_duplicate=False)
        if not name.startswith(prefix)
    }
    return {
        prefix + name: parameter
        for name, parameter in sublayer.weights(include_norm).items()
        if parameter.data_ptr() not in elsewhere
    }


@contextlib.contextmanager
def ablated(
    model: AnalysableModel, components: str | Iterable[str], constants: Mapping[str, Tensor] | None = None
) -> Iterator[list[str]]:
    """Take components out of the residual stream while the context lasts (method.md 0.2).

    No tensor is touched, so that afterwards the model is bit for bit what it was, whatever happened inside.

    Args:
        model: The model.
        components: Ids or selectors; an empty list ablates nothing.
        constants: By id, the vector ``(d_model,)`` that takes the place of a component's output, such as its mean
            output; zero for the components that are not named.

    Yields:
        The ids that are ablated.

    Raises:
        UserError: A selector matches nothing.
    """
    sublayers = model.components()
    components = [components] if isinstance(components, str) else list(components)
    chosen = select(components, list(sublayers)) if components else []
    weight = next(model.parameters())
    given = {component: (constants or {}).get(component) for component in chosen}
    values = {component: None if value is None else value.detach().to(weight) for component, value in given.items()}
    before = {component: (sublayers[component].ablated, sublayers[component].constant) for component in chosen}
    try:
        for component in chosen:
            sublayers[component].ablated, sublayers[component].constant = True, values[component]
        yield chosen
    finally:
        with interrupts_held():
            for component, was in before.items():
                sublayers[component].ablated, sublayers[component].constant = was


@contextlib.contextmanager
def interpolated(
    model: AnalysableModel, component: str, initial: Mapping[str, Tensor], alpha: float, include_norm: bool = False
) -> Iterator[None]:
    """Move a component towards its initial weights while the context lasts (method.md 1.4).

    Its weights become ``(1 - alpha) * initial + alpha * trained``, in place: at 0 the initial ones and at 1 the
    trained ones, bit for bit. Afterwards they are bit for bit what they were, whatever happened inside.

    Args:
        model: The trained model, in any precision, on any device.
        component: Id of the component.
        initial: Initial weights by their names in the model's state.
        alpha: From 0 to 1.
        include_norm: Move the component's LayerNorm too.

    Raises:
        UserError: The model has no such component, or the initial weights are those of another structure.
    """
    parameters = component_parameters(model, component, include_norm)
    with _replaced(parameters, {} if alpha == 1.0 else _between(parameters, initial, alpha)):
        yield


@contextlib.contextmanager
def perturbed(
    model: AnalysableModel,
    component: str,
    initial: Mapping[str, Tensor],
    alpha: float,
    sigma: float,
    seed: int,
    include_norm: bool = False,
) -> Iterator[None]:
    """Move a component towards its initial weights and add noise (Chatterji et al. 2020, method.md 2.2).

    Its weights become ``(1 - alpha) * initial + alpha * trained + u`` with u from a normal distribution, in place.
    Afterwards they are bit for bit what they were, whatever happened inside.

    Args:
        model: The trained model, in any precision, on any device.
        component: Id of the component.
        initial: Initial weights by their names in the model's state.
        alpha: From 0 to 1.
        sigma: Standard deviation of the noise.
        seed: Seed of the noise, which is the same on every device.
        include_norm: Move the component's LayerNorm too.

    Raises:
        UserError: The model has no such component, or the initial weights are those of another structure.
    """
    parameters = component_parameters(model, component, include_norm)
    generator = torch.Generator().manual_seed(seed)
    values = {
        name: value + sigma * torch.randn(value.shape, generator=generator, dtype=torch.float64)
        for name, value in _between(parameters, initial, alpha).items()
    }
    with _replaced(parameters, values):
        yield


@torch.no_grad()
def mean_outputs(model: AnalysableModel, batches: Iterable[Batch]) -> dict[str, Tensor]:
    """Return each component's mean output vector over the real tokens of a corpus, teacher-forced (method.md 0.2).

    The output is the function's, output bias included, before dropout and residual. Real tokens are the source's with
    their end of sentence in the encoder, and those that the next piece is predicted from in the decoder.

    Args:
        model: The model, on its device; it is left as it is.
        batches: Training sentences, with at least one in all.

    Returns:
        By component, ``(d_model,)`` in float64 on the CPU; zero for a component that is ablated.
    """
    sublayers = model.components()
    sums = {component: torch.zeros(model.d_model, dtype=torch.float64) for component in sublayers}
    real: dict[str, Tensor] = {}
    tokens = {"e": 0, "d": 0}
    pad = model.special_ids.pad

    def adder(component: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def add(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            sums[component] += _wide(output[real[component[0]]]).sum(dim=0).cpu()

        return add

    training = {module: module.training for module in model.modules()}
    hooks = []
    try:
        for component, sublayer in sublayers.items():
            hooks.append(sublayer.function.output_layer.register_forward_hook(adder(component)))
        model.eval()
        for batch in batches:
            moved = batch.to(next(model.parameters()).device)
            real = {"e": moved.source.ne(pad), "d": moved.target[:, 1:].ne(pad)}
            tokens = {side: tokens[side] + int(mask.sum()) for side, mask in real.items()}
            model.step(moved.target[:, :-1], model.start(model.encode(moved.source)))
    finally:
        with interrupts_held():
            for hook in hooks:
                hook.remove()
            for module, was in training.items():
                module.training = was
    return {component: total / tokens[component[0]] for component, total in sums.items()}


def _sublayer(model: AnalysableModel, component: str) -> Component:
    sublayers = model.components()
    (chosen,) = select(component, list(sublayers))
    return sublayers[chosen]


def _wide(values: Tensor) -> Tensor:
    """Return values in float64, on their device where that knows it."""
    return (values.cpu() if values.device.type == "mps" else values).double()


def _initial(initial: Mapping[str, Tensor], name: str, like: Tensor) -> Tensor:
    found = initial.get(name)
    if found is None or found.shape != like.shape:
        what = "no such weights" if found is None else f"{tuple(found.shape)}"
        raise UserError(
            f"the initial weights do not fit the model: {name} is {tuple(like.shape)} there, and {what} in them; give "
            "the checkpoint's own run folder, whose initial_weights.safetensors was written when it was trained."
        )
    return found.detach().cpu()


def _between(parameters: Mapping[str, nn.Parameter], initial: Mapping[str, Tensor], alpha: float) -> dict[str, Tensor]:
    """Return ``(1 - alpha) * initial + alpha * trained`` in float64 on the CPU, so that every device rounds alike."""
    values = {}
    for name, parameter in parameters.items():
        first, last = _initial(initial, name, parameter).double(), parameter.detach().cpu().double()
        values[name] = {0.0: first, 1.0: last}.get(alpha, (1.0 - alpha) * first + alpha * last)
    return values


@contextlib.contextmanager
def _replaced(parameters: Mapping[str, nn.Parameter], values: Mapping[str, Tensor]) -> Iterator[None]:
    """Give the parameters that are named other values while the context lasts, in place."""
    before = {name: parameters[name].detach().clone() for name in values}
    try:
        _write(parameters, values)
        yield
    finally:
        _write(parameters, before)


@torch.no_grad()
def _write(parameters: Mapping[str, nn.Parameter], values: Mapping[str, Tensor]) -> None:
    with interrupts_held():
        for name, value in values.items():
            parameters[name].copy_(value)


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back until the context ends, so that a change is made, or undone, as a whole."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    held: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *received: held.append(received))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            handler(*held[-1])
