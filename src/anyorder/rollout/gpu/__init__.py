"""Whole episodes in one GPU kernel, for policies and worlds that can be laid out on its lanes."""

from anyorder.rollout.gpu.loop import gpu_returns
from anyorder.rollout.gpu.policies import Listener, Reactor, listener_rows, reactor_rows
from anyorder.rollout.gpu.worlds import CartPoleLanes

__all__ = [
    "CartPoleLanes",
    "Listener",
    "Reactor",
    "gpu_returns",
    "listener_rows",
    "reactor_rows",
]
