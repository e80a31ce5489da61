"""The best that can be done when it is known which sensor is which: a teacher, and a ceiling."""

from anyorder.oracle.cache import OracleConfig, load_oracle
from anyorder.oracle.controller import Oracle
from anyorder.oracle.episodes import blind_returns, oracle_returns, start_states
from anyorder.oracle.grid import Level

__all__ = [
    "Level",
    "Oracle",
    "OracleConfig",
    "blind_returns",
    "load_oracle",
    "oracle_returns",
    "start_states",
]
