"""Anyone's agent as a subject of the audit: which bridge a name on the command line leads over."""

from __future__ import annotations

from pathlib import Path

from anyorder.bridges.gym_worlds import GymInterface, gym_interface, make_gym
from anyorder.bridges.gym_wrappers import DelayedGym, PerturbedGym
from anyorder.bridges.onnx_agent import open_onnx
from anyorder.bridges.python_agent import open_python
from anyorder.bridges.sb3_agent import is_sb3, open_sb3
from anyorder.bridges.torch_agent import open_torch
from anyorder.errors import UsageError
from anyorder.evaluation.host_audit import MakeTrialWorld
from anyorder.evaluation.subject import AuditSubject
from anyorder.sensors import AbstractPerturbation

KINDS = """model.zip     saved by stable-baselines3
  net.onnx      an ONNX network
  net.pt        TorchScript; with --trust also a torch.export program (.pt2)
  agent.py:act  a Python function, torch module, or class with reset and act"""
"""What can be opened, for people to read."""
TORCH = (".pt", ".pt2", ".ts", ".pth")


def is_foreign(spec: str) -> bool:
    """Whether a name on the command line is of a file from elsewhere, rather than of an agent of ours."""
    return _python(spec) is not None or Path(spec).suffix.lower() in (".zip", ".onnx", *TORCH)


def open_subject(spec: str, env_id: str | None, *, trust: bool = False) -> AuditSubject:
    """The agent that `spec` names, for the Gymnasium world `env_id`; UsageError if it cannot be had.

    `trust` lets Python run that is pickled in a zip of stable-baselines3 or in a program that torch exported,
    where it cannot be done without. A Python file is always run: that is what naming it asks for.
    """
    python = _python(spec)
    if python is not None:
        return open_python(*python, None if env_id is None else gym_interface(env_id))
    path = Path(spec)
    if not is_foreign(spec):
        raise UsageError(f"{spec} is no agent that anyorder can open; it opens\n  {KINDS}")
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    interface = _interface(spec, env_id)
    if path.suffix.lower() == ".onnx":
        return open_onnx(path, interface)
    if path.suffix.lower() in TORCH:
        return open_torch(path, interface, trust=trust)
    if not is_sb3(path):
        raise UsageError(
            f"{path} is not a zip that stable-baselines3 wrote: it has no policy in it."
        )
    return open_sb3(path, interface, trust=trust)


def trial_worlds(world: str) -> MakeTrialWorld:
    """Makes worlds for the audit: with a perturbation, whose observations come so many steps late."""
    n_sensors = gym_interface(world).n_sensors

    def make_world(perturbation: AbstractPerturbation, delay: int) -> PerturbedGym:
        env = make_gym(world)
        return PerturbedGym(DelayedGym(env, [delay] * n_sensors) if delay else env, perturbation)

    return make_world


def _interface(spec: str, env_id: str | None) -> GymInterface:
    if env_id is None:
        raise UsageError(f"Which world is {spec} for? Say so with --env, as in --env CartPole-v1.")
    return gym_interface(env_id)


def _python(spec: str) -> tuple[Path, str] | None:
    """File and attribute of `agent.py:act`."""
    file, colon, attribute = spec.rpartition(":")
    if not colon or not file.endswith(".py") or not attribute.isidentifier():
        return None
    return Path(file), attribute
