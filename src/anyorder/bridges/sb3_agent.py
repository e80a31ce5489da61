"""Agents of stable-baselines3: the zip that `model.save` writes.

Such a zip is JSON and weights, but whatever JSON cannot say is in it as pickled Python, which runs when it
is unpickled. What acting needs can be had without: spaces come from the world, schedules and buffers are
not used, and layers are named beside their pickles. Only a policy or a setting that stable-baselines3 and
torch do not define has to be unpickled, and that is done for those who say that they trust the file.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from anyorder.bridges.extras import load_extra
from anyorder.bridges.gym_worlds import GymInterface, make_gym
from anyorder.errors import UsageError

SIGNS = (
    ("PPO", "clip_range"),
    ("A2C", "gae_lambda"),
    ("DQN", "exploration_fraction"),
    ("SAC", "target_entropy"),
    ("TD3", "policy_delay"),
)
"""A setting by which each algorithm is known, the first that is there. DDPG is TD3 with its own settings."""
PICKLED = ":serialized:"
OLDEST = (2, 9)
"""From this version on we know that weights are read as numbers and nothing else is unpickled for them."""
TRUSTED = ("torch.nn.", "torch.optim.", "stable_baselines3.")
"""Where a class named in the zip may come from without anyone's leave."""


class SB3Subject:
    """A model of stable-baselines3, acting without exploration. Its policies have no memory."""

    def __init__(self, name: str, interface: GymInterface, model: Any):
        self.name = name
        self.world = interface.world
        self.n_sensors: int | None = interface.n_sensors
        self._model = model

    def reset(self, n_sensors: int) -> None:
        """Nothing to forget."""

    def act(self, observation: Float[np.ndarray, " sensors"]) -> np.ndarray:
        return np.asarray(self._model.predict(observation, deterministic=True)[0])

    def act_on_many(self, observations: Float[np.ndarray, "batch sensors"]) -> np.ndarray:
        """An action per observation."""
        return np.asarray(self._model.predict(observations, deterministic=True)[0])


def is_sb3(path: Path) -> bool:
    """Whether this file is a zip as stable-baselines3 writes them."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {"data", "policy.pth"} <= set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def open_sb3(path: Path, interface: GymInterface, *, trust: bool = False) -> SB3Subject:
    """The model in a zip, of whichever algorithm. With `trust`, what must be unpickled is."""
    with zipfile.ZipFile(path) as archive:
        facts = json.loads(archive.read("data"))
    sb3 = load_extra("stable_baselines3", "sb3")
    if not trust and tuple(map(int, sb3.__version__.split(".")[:2])) < OLDEST:
        raise UsageError(
            f"stable-baselines3 {sb3.__version__} may unpickle weights, which can run foreign code: "
            'run pip install -U "anyorder[sb3]", or add --trust.'
        )
    algorithm = getattr(sb3, algorithm_of(facts, path))
    env = make_gym(interface.world)
    _check_sizes(facts, interface, path)
    replaced = _without_pickles(facts, algorithm)
    replaced |= {"observation_space": env.observation_space, "action_space": env.action_space}
    left = [name for name, fact in facts.items() if _is_pickled(fact) and name not in replaced]
    if left and not trust:
        raise UsageError(
            f"{path} holds Python of its own in {', '.join(left)}, which would run when it is loaded: "
            "add --trust if you know where the file comes from."
        )
    try:
        model = algorithm.load(path, device="cpu", custom_objects=replaced)
    except Exception as error:  # from torch, from pickle, from the zip's own code
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageError(
            f"stable-baselines3 cannot load {path} for {interface.world} ({why}): "
            "give the world it was trained in."
        ) from error
    return SB3Subject(path.name, interface, model)


def algorithm_of(facts: Mapping[str, Any], path: Path) -> str:
    """The algorithm whose settings these are."""
    found = next((name for name, setting in SIGNS if setting in facts), None)
    policy = facts.get("policy_class")
    contributed = isinstance(policy, Mapping) and "sb3_contrib" in str(policy.get("__module__"))
    if found is None or contributed:
        raise UsageError(
            f"{path} is of an algorithm that stable-baselines3 itself does not have: wrap its predict in a "
            "Python function, as in agent.py:act."
        )
    return found


def _without_pickles(facts: Mapping[str, Any], algorithm: Any) -> dict[str, Any]:
    """What stands in for the pickled parts of the zip; those without a stand-in are left out."""
    replaced: dict[str, Any] = {}
    for name, fact in facts.items():
        if not _is_pickled(fact):
            continue
        if name == "policy_class":
            if str(fact.get("__module__")).startswith("stable_baselines3."):
                # The world shows a vector, and for vectors each algorithm has one policy.
                replaced[name] = algorithm.policy_aliases["MlpPolicy"]
        elif name == "policy_kwargs":
            settings = _named_settings(fact)
            if settings is not None:
                replaced[name] = settings
        elif name in ("lr_schedule", "clip_range", "clip_range_vf", "exploration_schedule"):
            replaced[name] = _zero
        else:
            replaced[name] = None  # buffers, callbacks, what was last seen: acting needs none of it
    # No past steps are learned from: one place for them is enough, where there were a million.
    return replaced | ({"buffer_size": 1, "train_freq": 1} if "buffer_size" in facts else {})


def _named_settings(fact: Mapping[str, Any]) -> dict[str, Any] | None:
    """A pickled dictionary again from what is written beside the pickle; None if that is not enough."""
    settings = {}
    for name, value in fact.items():
        if name in (":type:", PICKLED):
            continue
        if isinstance(value, str):
            named = re.fullmatch(r"<class '([\w.]+)\.(\w+)'>", value)
            if named is None or not f"{named[1]}.".startswith(TRUSTED):
                return None
            try:
                found = getattr(importlib.import_module(named[1]), named[2])
            except (ImportError, AttributeError):
                return None
            if not inspect.isclass(found):
                return None
            value = found
        settings[name] = value
    return settings


def _check_sizes(facts: Mapping[str, Any], interface: GymInterface, path: Path) -> None:
    """Raise UsageError if the zip says it was made for observations of another shape."""
    space = facts.get("observation_space")
    shape = space.get("_shape") if isinstance(space, Mapping) else None
    if isinstance(shape, list) and shape != [interface.n_sensors]:
        raise UsageError(
            f"{path} was trained on observations of shape {tuple(shape)}, and {interface.world} shows "
            f"{interface.n_sensors} numbers: give the world it was trained in."
        )


def _is_pickled(fact: Any) -> bool:
    return isinstance(fact, Mapping) and PICKLED in fact


def _zero(progress: float) -> float:
    """A schedule for those who will not learn any more."""
    return 0.0
