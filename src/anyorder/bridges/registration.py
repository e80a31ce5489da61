"""Called by Gymnasium, which finds it through this package's entry point."""


def register() -> None:
    """Make `gymnasium.make("anyorder/CartPoleSwingUpHarder-v0")` work."""
    from gymnasium.envs.registration import register, registry

    name = "CartPoleSwingUpHarder-v0"
    if f"anyorder/{name}" not in registry:
        register(
            id=f"anyorder/{name}",
            entry_point="anyorder.bridges.gymnasium_cartpole:GymnasiumCartPole",
            max_episode_steps=1000,
        )
