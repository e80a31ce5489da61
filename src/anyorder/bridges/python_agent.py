"""Agents written in Python: `agent.py:act`, a function from an observation to an action.

The file is run, as Python would run it. What the name stands for may also be a torch module, or an object
(or a class to make one of) with `reset(n_sensors)` and `act(observation)`, for agents that remember.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from anyorder.bridges.gym_worlds import GymInterface, gym_interface, to_actions
from anyorder.bridges.networks import NetworkSubject
from anyorder.bridges.torch_agent import is_module, torch_subject
from anyorder.errors import UsageError
from anyorder.evaluation.subject import AuditSubject


def open_python(path: Path, attribute: str, interface: GymInterface | None) -> AuditSubject:
    """The agent under this name in this file, for this world or for the one it names itself."""
    found = _attribute(path, attribute)
    name = f"{path.name}:{attribute}"
    if inspect.isclass(found):
        try:
            found = found()
        except Exception as error:  # a stranger's code
            raise UsageError(f"{name} cannot be made without arguments ({error}).") from error
    if isinstance(found, AuditSubject):
        if interface is not None and interface.world != found.world:
            raise UsageError(
                f"{name} says that it plays {found.world}, not {interface.world}: leave out --env."
            )
        return _tried(found, name, interface or gym_interface(found.world))
    if interface is None:
        raise UsageError(f"Which world is {name} for? Say so with --env, as in --env CartPole-v1.")
    if is_module(found):
        module: Any = found
        return torch_subject(name, interface, module.eval())
    if hasattr(found, "reset") and hasattr(found, "act"):
        return _tried(_completed(found, name, interface), name, interface)
    if callable(found):
        return function_subject(name, interface, found)
    raise UsageError(
        f"{name} is {type(found).__name__}: name a function, a torch module or an object with reset and act."
    )


def function_subject(
    name: str, interface: GymInterface, function: Callable[[np.ndarray], Any]
) -> NetworkSubject:
    """A function of one observation (sensors,), which may be any code."""

    def forward(observation: np.ndarray) -> np.ndarray:
        return np.asarray(function(observation))

    return NetworkSubject(name, interface, forward, layouts=("vector",))


def _completed(found: Any, name: str, interface: GymInterface) -> AuditSubject:
    """The object itself, told its name, its world and how many sensors it reads where it does not say."""
    facts = {"name": name, "world": interface.world, "n_sensors": interface.n_sensors}
    for fact, value in facts.items():
        if not hasattr(found, fact):
            try:
                setattr(found, fact, value)
            except AttributeError as error:
                raise UsageError(f"{name} must have an attribute {fact}.") from error
    return found


def _tried(found: AuditSubject, name: str, interface: GymInterface) -> AuditSubject:
    """The same, once it has shown that it can act in this world."""
    observation = interface.sample(1)[0]
    try:
        found.reset(len(observation))
        answer = np.asarray(found.act(observation))
    except Exception as error:  # a stranger's code
        raise UsageError(
            f"{name} cannot act on the {len(observation)} numbers that {interface.world} shows "
            f"({type(error).__name__}: {error})."
        ) from error
    action = to_actions(answer[None], interface, name)[0]
    if answer.size != action.size:
        raise UsageError(
            f"{name} must answer with an action itself, as {interface.world} takes it."
        )
    return found


def _attribute(path: Path, attribute: str) -> Any:
    """What the file defines under this name."""
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    spec = importlib.util.spec_from_file_location(f"anyorder_agent_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file: name one, as in agent.py:act.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickles look for it there
    folder = str(path.resolve().parent)
    if folder not in sys.path:  # so that the file finds its neighbours, as it would when run
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a stranger's code
        raise UsageError(
            f"{path} cannot be run ({type(error).__name__}: {error}): mend it first."
        ) from error
    try:
        return getattr(module, attribute)
    except AttributeError as error:
        raise UsageError(f"{path} defines no {attribute!r}.") from error
