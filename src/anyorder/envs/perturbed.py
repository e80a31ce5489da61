"""Environment + perturbation = environment."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.envs.base import AbstractEnv, EnvState, Step
from anyorder.sensors import AbstractPerturbation, Plan, Sensors


class PerturbedState(eqx.Module):
    """The world's own state, and what is happening to its sensors."""

    world: EnvState
    sight: Sensors
    """What the world shows before anything happens to it."""
    plan: Plan
    time: Int[Array, ""]


class PerturbedEnv(AbstractEnv):
    """The same world, its sensors changed on their way to the agent."""

    env: AbstractEnv
    perturbation: AbstractPerturbation

    def __check_init__(self):
        def draw(key):
            return self.perturbation.draw(key, self.env.n_sensors, self.n_steps)

        jax.eval_shape(draw, jax.random.key(0))  # one that does not fit this world says so here

    @property
    def n_sensors(self) -> int:
        return self.perturbation.count(self.env.n_sensors)

    @property
    def n_actions(self) -> int:
        return self.env.n_actions

    @property
    def discrete(self) -> bool:
        return self.env.discrete

    @property
    def n_steps(self) -> int:
        return self.env.n_steps

    @property
    def bare(self) -> AbstractEnv:
        return self.env.bare

    def sight(self, step: Step) -> Sensors:
        inner = Step(
            state=step.state.world,
            sensors=step.state.sight,
            reward=step.reward,
            terminated=step.terminated,
            truncated=step.truncated,
        )
        return self.env.sight(inner)

    def practising(self, share: Float[Array, ""]) -> PerturbedEnv:
        return PerturbedEnv(self.env.practising(share), self.perturbation)

    def reset(self, key: PRNGKeyArray) -> Step:
        """The world starts as it would have without the perturbation and with the same key."""
        plan_key = jax.random.fold_in(key, 1)
        plan = self.perturbation.draw(plan_key, self.env.n_sensors, self.n_steps)
        return self._perturb(self.env.reset(key), plan, jnp.zeros((), int))

    def step(
        self, state: PerturbedState, action: Float[Array, " actions"], *, key: PRNGKeyArray
    ) -> Step:
        step = self.env.step(state.world, action, key=key)
        return self._perturb(step, state.plan, state.time + 1)

    def origins(self, state: PerturbedState) -> Int[Array, " sensors"]:
        """Which of the world's sensors each of the agent's shows; -1 for those that show none."""
        numbers = 1.0 + jnp.arange(self.env.n_sensors)
        silent, one, named = (
            self.perturbation.apply(state.plan, Sensors.of(readings), state.time)
            for readings in (jnp.zeros_like(numbers), jnp.ones_like(numbers), numbers)
        )
        factor = one.values - silent.values  # 0 for what is made up
        shown = jnp.where(factor == 0, 1, factor)
        number = jnp.round((named.values - silent.values) / shown).astype(int)
        return jnp.where(named.present & (factor != 0), number - 1, -1)

    def _perturb(self, step: Step, plan: Plan, time: Int[Array, ""]) -> Step:
        return Step(
            state=PerturbedState(step.state, step.sensors, plan, time),
            sensors=self.perturbation.apply(plan, step.sensors, time),
            reward=step.reward,
            terminated=step.terminated,
            truncated=step.truncated,
        )
