"""How good an agent is, and how sure we are."""

from anyorder.evaluation.ceiling import BLIND, BLIND_STEPS, CEILING
from anyorder.evaluation.paper import PAPER
from anyorder.evaluation.protocols import (
    BATCH,
    PROTOCOLS,
    SUCCESS,
    SUITES,
    play,
    player_on,
    protocol_returns,
    success_of,
)
from anyorder.evaluation.recordings import joined, record_episodes, recorded_returns
from anyorder.evaluation.statistics import Summary, interval, iqm, summarize

__all__ = [
    "BATCH",
    "BLIND",
    "BLIND_STEPS",
    "CEILING",
    "PAPER",
    "PROTOCOLS",
    "SUCCESS",
    "SUITES",
    "Summary",
    "interval",
    "iqm",
    "joined",
    "play",
    "player_on",
    "protocol_returns",
    "record_episodes",
    "recorded_returns",
    "success_of",
    "summarize",
]
