"""Our worlds under Gymnasium's names: `import anyorder` is enough, and nothing heavy is loaded for it."""

from gymnasium.envs.registration import register as register_world
from gymnasium.envs.registration import registry

CARTPOLE = "anyorder/CartPoleSwingUpHarder-v0"


def register() -> None:
    """Make `gymnasium.make("anyorder/CartPoleSwingUpHarder-v0")` work."""
    if CARTPOLE not in registry:
        register_world(
            id=CARTPOLE,
            entry_point="anyorder.bridges.gymnasium_cartpole:GymnasiumCartPole",
            max_episode_steps=1000,
        )
