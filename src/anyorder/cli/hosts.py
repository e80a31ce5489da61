"""Training on several hosts at once."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from pathlib import Path
from typing import Any

import jax
from jax.extend.backend import clear_backends

from anyorder.cli.console import console
from anyorder.errors import UsageError
from anyorder.rollout.hosts import HostsEngine
from anyorder.training import Evolution


def join_hosts(options: Any) -> Any:
    """Join the other hosts of a run, before anything is computed; returns the options for this one.

    The first host keeps the run. The others go through the same motions in silence and keep theirs in a
    folder that goes away, as all that they write is on the first host too.
    """
    if options.hosts == 1:
        return options
    if options.method != "es" or options.seeds > 1:
        raise UsageError("Several hosts share evolution: leave out --method and --seeds.")
    if options.minutes is not None:
        raise UsageError("Hosts' clocks differ: say --updates or --target instead of --minutes.")
    if not 0 <= options.host < options.hosts or options.coordinator is None:
        raise UsageError(
            f"Give each of the {options.hosts} hosts its --host, from 0, and all the same --coordinator."
        )
    clear_backends()  # importing evosax has computed something already, for strategies we do not use
    jax.distributed.initialize(options.coordinator, options.hosts, options.host)
    if options.host == 0:
        return options
    console.quiet = True
    mine = Path(tempfile.mkdtemp(prefix="anyorder-"))
    if options.resume is None:
        return dataclasses.replace(options, out=mine / "run")
    copied = shutil.copytree(options.resume, mine / "run")
    return dataclasses.replace(options, resume=copied, out=None)


def leave_hosts(options: Any, run: Path) -> None:
    """Throw away what only the first host is to keep."""
    if options.hosts > 1:
        jax.distributed.shutdown()
        if options.host > 0:
            shutil.rmtree(run.parent, ignore_errors=True)


def shared(learner: Any) -> Any:
    """The learner with its episodes shared among the hosts, if there are several."""
    if jax.process_count() == 1 or not isinstance(learner, Evolution):
        return learner
    return Evolution(learner.policy, HostsEngine(learner.engine), learner.config)
