"""What can happen to sensors, each defined once and as data.

A perturbation *draws* a plan at the start of an episode, plain arrays that say what will happen,
and *applies* it at every step. Both are pure, so they run inside jit and vmap, and any host that
can hold the plan (a Gymnasium wrapper, a compiled kernel) does exactly the same thing.

>>> import jax
>>> from anyorder.sensors import Double, Noise, Sensors, Shuffle, chain
>>> harder = chain(Double(), Noise(channels=2), Shuffle())
>>> plan = harder.draw(jax.random.key(0), n_sensors=3, n_steps=100)
>>> harder.apply(plan, Sensors.of([1.0, 2.0, 3.0]), step=0).n_sensors
8
"""

from __future__ import annotations

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, UInt32

from anyorder.sensors.observation import Sensors, over_signal

Plan = PyTree
"""What will happen to the sensors in one episode, as plain arrays."""


class AbstractPerturbation(eqx.Module):
    """A change of the sensors between the world and the agent."""

    @abc.abstractmethod
    def count(self, n_sensors: int) -> int:
        """How many sensors the agent sees of a world that has `n_sensors`."""

    @abc.abstractmethod
    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> Plan:
        """Decide what will happen in an episode of at most `n_steps` steps."""

    @abc.abstractmethod
    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        """The sensors as the agent sees them at `step` (0 is the first observation)."""


class Unchanged(AbstractPerturbation):
    """Nothing happens."""

    def count(self, n_sensors: int) -> int:
        return n_sensors

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> Plan:
        return ()

    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        return sensors


class Shuffle(AbstractPerturbation):
    """One random order, kept for the whole episode."""

    def count(self, n_sensors: int) -> int:
        return n_sensors

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> Int[Array, " sensors"]:
        return jax.random.permutation(key, n_sensors)

    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        return sensors.take(plan)


class Reshuffle(AbstractPerturbation):
    """A new random order every `every` steps, the first one at the reset."""

    every: int = eqx.field(static=True)

    def __check_init__(self):
        if self.every < 1:
            raise ValueError(f"Reshuffle needs every >= 1, got {self.every}.")

    def count(self, n_sensors: int) -> int:
        return n_sensors

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> Int[Array, "phases sensors"]:
        keys = jax.random.split(key, _phases(n_steps, self.every))
        return jax.vmap(lambda k: jax.random.permutation(k, n_sensors))(keys)

    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        return sensors.take(plan[_phase(step, self.every, plan.shape[0])])


class Double(AbstractPerturbation):
    """Every sensor is there `times` times."""

    times: int = eqx.field(static=True, default=2)

    def __check_init__(self):
        if self.times < 1:
            raise ValueError(f"Double needs times >= 1, got {self.times}.")

    def count(self, n_sensors: int) -> int:
        return n_sensors * self.times

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> Plan:
        return ()

    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        return sensors.take(jnp.tile(jnp.arange(sensors.n_sensors), self.times))


class NoisePlan(eqx.Module):
    """One episode's noise."""

    words: UInt32[Array, " words"]
    """Of the key it is drawn from."""
    there: Bool[Array, ""]


class Noise(AbstractPerturbation):
    """`channels` more sensors that carry Gaussian noise of standard deviation `sd` and no signal.

    They are there in a `share` of episodes, and absent in the others.
    """

    channels: int = eqx.field(static=True, default=5)
    sd: float = eqx.field(static=True, default=0.1)
    share: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        if self.channels < 0 or self.sd < 0 or not 0 <= self.share <= 1:
            raise ValueError(
                "Noise needs channels >= 0, sd >= 0 and a share from 0 to 1, "
                f"got {self.channels}, {self.sd} and {self.share}."
            )

    def count(self, n_sensors: int) -> int:
        return n_sensors + self.channels

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> NoisePlan:
        there = jax.random.bernoulli(jax.random.fold_in(key, 1), self.share)
        return NoisePlan(jax.random.key_data(key), there)

    def apply(self, plan: NoisePlan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        key = jax.random.fold_in(jax.random.wrap_key_data(plan.words), step)
        shape = (self.channels, *sensors.values.shape[1:])
        noise = self.sd * jax.random.normal(key, shape, sensors.values.dtype)
        return sensors.join(Sensors(noise, jnp.broadcast_to(plan.there, (self.channels,))))


class Drop(AbstractPerturbation):
    """`lost` randomly chosen sensors are gone for the whole episode."""

    lost: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        if self.lost < 0:
            raise ValueError(f"Drop needs lost >= 0, got {self.lost}.")

    def count(self, n_sensors: int) -> int:
        return n_sensors

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> Bool[Array, " sensors"]:
        if self.lost > n_sensors:
            raise ValueError(f"Cannot drop {self.lost} of {n_sensors} sensors.")
        return jax.random.permutation(key, n_sensors) >= self.lost

    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        return sensors.only(plan)


class Flicker(AbstractPerturbation):
    """Sensors fail now and then: each is absent with `probability`, drawn anew every `every` steps."""

    probability: float = eqx.field(static=True, default=0.1)
    every: int = eqx.field(static=True, default=10)

    def __check_init__(self):
        if not 0 <= self.probability <= 1 or self.every < 1:
            raise ValueError(
                "Flicker needs a probability from 0 to 1 and every >= 1, "
                f"got {self.probability} and {self.every}."
            )

    def count(self, n_sensors: int) -> int:
        return n_sensors

    def draw(
        self, key: PRNGKeyArray, n_sensors: int, n_steps: int
    ) -> Bool[Array, "phases sensors"]:
        shape = (_phases(n_steps, self.every), n_sensors)
        return jax.random.bernoulli(key, 1 - self.probability, shape)

    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        return sensors.only(plan[_phase(step, self.every, plan.shape[0])])


class Rescale(AbstractPerturbation):
    """`affected` randomly chosen sensors read `factor` times what they should, all episode long."""

    factor: float = eqx.field(static=True, default=2.0)
    affected: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        if self.affected < 0 or not math.isfinite(self.factor):
            raise ValueError(
                "Rescale needs a finite factor and affected >= 0, "
                f"got {self.factor} and {self.affected}."
            )

    def count(self, n_sensors: int) -> int:
        return n_sensors

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> Float[Array, " sensors"]:
        return _factors(key, n_sensors, self.affected, self.factor)

    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        return _scaled(plan, sensors)


class Flip(AbstractPerturbation):
    """`affected` randomly chosen sensors read with the wrong sign, all episode long."""

    affected: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        if self.affected < 0:
            raise ValueError(f"Flip needs affected >= 0, got {self.affected}.")

    def count(self, n_sensors: int) -> int:
        return n_sensors

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> Float[Array, " sensors"]:
        return _factors(key, n_sensors, self.affected, -1.0)

    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        return _scaled(plan, sensors)


class Chain(AbstractPerturbation):
    """Several perturbations, each working on what the one before it leaves."""

    parts: tuple[AbstractPerturbation, ...]

    def count(self, n_sensors: int) -> int:
        for part in self.parts:
            n_sensors = part.count(n_sensors)
        return n_sensors

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> tuple[Plan, ...]:
        plans = []
        for index, part in enumerate(self.parts):
            plans.append(part.draw(jax.random.fold_in(key, index), n_sensors, n_steps))
            n_sensors = part.count(n_sensors)
        return tuple(plans)

    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        for part, part_plan in zip(self.parts, plan, strict=True):
            sensors = part.apply(part_plan, sensors, step)
        return sensors


def chain(*parts: AbstractPerturbation) -> Chain:
    """`chain(Double(), Shuffle())`: first double the sensors, then shuffle them."""
    return Chain(parts)


def _factors(
    key: PRNGKeyArray, n_sensors: int, affected: int, factor: float
) -> Float[Array, " sensors"]:
    """`factor` for as many sensors as are affected, 1 for the others."""
    if affected > n_sensors:
        raise ValueError(f"Cannot change {affected} of {n_sensors} sensors.")
    return jnp.where(jax.random.permutation(key, n_sensors) < affected, factor, 1.0)


def _scaled(factors: Float[Array, " sensors"], sensors: Sensors) -> Sensors:
    """The sensors, each reading its factor times what it should."""
    values = sensors.values * over_signal(factors.astype(sensors.values.dtype), sensors.values)
    return Sensors(values, sensors.present)


def _phases(n_steps: int, every: int) -> int:
    """Periods of `every` steps begun in an episode, whose observations number `n_steps` + 1."""
    return math.ceil((n_steps + 1) / every)


def _phase(step: int | Int[Array, ""], every: int, n_phases: int) -> Int[Array, ""]:
    """The period `step` falls in; a host without a step limit begins again after the last."""
    return (jnp.asarray(step) // every) % n_phases
