"""anyorder import FILE."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from anyorder.bridges.authors import import_weights
from anyorder.cli.console import console, parse
from anyorder.errors import UsageError
from anyorder.runs import save_agent

DESCRIPTION = """Make an agent folder of the weights Tang and Ha released.

  anyorder import cartpole_pi.npz --out runs/released
  anyorder evaluate runs/released --protocol paper

FILE is an .npz with one flat vector under `params`, in torch's parameter order."""


@dataclass(frozen=True)
class ImportOptions:
    """Options of `anyorder import`."""

    file: Annotated[Path, tyro.conf.Positional]
    """The weights."""
    out: Path | None = None
    """Folder for the agent; runs/NAME-OF-FILE if left out."""
    kind: str | None = None
    """cartpole or ant; found from the number of parameters if left out."""


def main(arguments: list[str]) -> None:
    """Read, check, write."""
    options = parse(ImportOptions, "import", DESCRIPTION, arguments)
    agent = import_weights(options.file, options.kind)
    out = options.out or Path("runs") / options.file.stem
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is occupied: choose another --out.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        save_agent(agent, out)
    except OSError as error:
        raise UsageError(
            f"{out} cannot be written ({error.strerror}): choose another --out."
        ) from error
    console.print(
        f"A {agent.task} agent of {agent.n_parameters:,} parameters: {out}\n"
        f"  test it  anyorder evaluate {out} --protocol paper"
    )
