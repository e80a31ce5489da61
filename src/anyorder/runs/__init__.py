"""Runs and agents on disk, written and read here only."""

from anyorder.runs.agent import AGENT_FILE, Agent, config_from, load_agent, make_policy, save_agent
from anyorder.runs.document import FORMAT, read_facts, write_text
from anyorder.runs.folder import MetricsLog, RunFolder
from anyorder.runs.recordings import load_recordings, require_no_recordings, save_recordings

__all__ = [
    "AGENT_FILE",
    "FORMAT",
    "Agent",
    "MetricsLog",
    "RunFolder",
    "config_from",
    "load_agent",
    "load_recordings",
    "make_policy",
    "read_facts",
    "require_no_recordings",
    "save_agent",
    "save_recordings",
    "write_text",
]
