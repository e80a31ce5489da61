"""What every environment has in common: pure functions of state, action and key."""

import abc

import equinox as eqx
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from anyorder.sensors import Sensors

EnvState = PyTree


class Step(eqx.Module):
    """The world after a reset or a step."""

    state: EnvState
    sensors: Sensors
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    """The world ended: nothing is to be had from here on."""
    truncated: Bool[Array, ""]
    """We stopped watching: the world would have gone on."""

    @property
    def done(self) -> Bool[Array, ""]:
        return self.terminated | self.truncated


class AbstractEnv(eqx.Module):
    """A world with sensors."""

    @property
    @abc.abstractmethod
    def n_sensors(self) -> int:
        """Sensors the agent sees."""

    @property
    @abc.abstractmethod
    def n_actions(self) -> int:
        """Size of an action."""

    @property
    def discrete(self) -> bool:
        """Whether an action is a choice, one-hot among `n_actions`, instead of that many numbers."""
        return False

    @property
    @abc.abstractmethod
    def n_steps(self) -> int:
        """Steps after which an episode is truncated."""

    @property
    def bare(self) -> "AbstractEnv":
        """The world without what happens to its sensors on their way to the agent."""
        return self

    def sight(self, step: Step) -> Sensors:
        """What the bare world shows at this step."""
        return step.sensors

    def practising(self, share: Float[Array, ""]) -> "AbstractEnv":
        """The same world, a share of whose episodes is an exercise that is easier to learn from."""
        raise ValueError(f"{type(self).__name__} has no exercise to practise.")

    @abc.abstractmethod
    def reset(self, key: PRNGKeyArray) -> Step:
        """The start of an episode."""

    @abc.abstractmethod
    def step(self, state: EnvState, action: Float[Array, " actions"], *, key: PRNGKeyArray) -> Step:
        """One step, from the state of the step before."""
