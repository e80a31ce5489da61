"""anyorder study nla, anyorder study encoders."""

from __future__ import annotations

import dataclasses
import json
import shlex
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from anyorder.cli.console import console, keep_compiled_code, parse, show, write_file, write_json
from anyorder.envs import TASKS
from anyorder.errors import UsageError
from anyorder.neurons.key_maps import KeyMapName
from anyorder.policies import InvariantPolicy
from anyorder.studies import (
    KEY_MAPS,
    Budget,
    Cell,
    Outcome,
    draw_curves,
    draw_reached,
    encoder_cells,
    encoder_table,
    main_threshold,
    nla_cells,
    nla_page,
    nla_results,
    run_cell,
)
from anyorder.studies.encoders import after_shuffle, reshuffled
from anyorder.studies.nla import BASELINE, SMOKE

DESCRIPTION = """Run an experiment and write down what it says.

  anyorder study nla                      does a nonlinear map of the keys make learning faster?
  anyorder study nla --seeds 5 --methods ppo --maps identity gated --out studies/quick
  anyorder study encoders                 AttentionNeuron beside other encoders without order
  anyorder study nla --smoke              the same in seconds, to see that it runs

A study is made of cells, each one kind of agent by one method from all seeds at once. Finished cells
are kept, and the same command goes on after the last one. The folder (studies/NAME if --out is left
out) gets results.json, report.md, figures and cells/."""
FORMAT = 1
KIND = "study-cell"
UNITS = {"evolution": "generations", "ppo": "rollouts"}


@dataclass(frozen=True)
class StudyOptions:
    """Options of `anyorder study`."""

    study: Annotated[Literal["nla", "encoders"], tyro.conf.Positional]
    """nla: nonlinear maps of the keys beside none; encoders: other encoders without order."""
    out: Path | None = None
    """Folder for cells, results, figures and report."""
    seeds: int | None = None
    """Seeds of every cell: 20 if left out, 2 with --smoke."""
    methods: tuple[Literal["evolution", "ppo"], ...] = ()
    """How agents learn: both for nla, ppo for encoders if left out."""
    maps: tuple[KeyMapName, ...] = KEY_MAPS
    """Maps of the keys (nla); identity is what the others are compared with."""
    task: str = "cartpole"
    """The world to learn."""
    smoke: bool = False
    """Spend next to nothing: to see that everything runs."""
    budget: Budget = field(default_factory=Budget)
    """What every cell may spend."""


def main(arguments: list[str]) -> None:
    """Run what is missing, then tell all."""
    options = parse(StudyOptions, "study", DESCRIPTION, arguments)
    keep_compiled_code()
    if options.seeds is not None and options.seeds < 1:
        raise UsageError(f"--seeds must be at least 1, got {options.seeds}.")
    if options.task not in TASKS:
        raise UsageError(f"There is no task {options.task!r}: choose one of {', '.join(TASKS)}.")
    if options.smoke:
        options = dataclasses.replace(options, budget=SMOKE, seeds=options.seeds or 2)
    out = options.out or Path("studies") / options.study
    cells = cells_of(options)
    found = outcomes(options, cells, out)
    made = {
        "command": f"`{shlex.join(['anyorder', 'study', *arguments])}`",
        "device": devices(found),
        "anyorder": _version(),
        "written": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }
    if options.study == "nla":
        tell_nla(found, cells, out, made)
    else:
        tell_encoders(found, out, made)
    console.print(f"\nWritten: {out / 'report.md'}, {out / 'results.json'}", markup=False)


def cells_of(options: StudyOptions) -> list[Cell]:
    """The cells that were asked for."""
    try:
        if options.study == "encoders":
            return encoder_cells(options.budget, options.methods or ("ppo",))
        if BASELINE not in options.maps:
            raise UsageError(f"--maps needs {BASELINE}: the others are compared with it.")
        return nla_cells(options.maps, options.methods or ("evolution", "ppo"), options.budget)
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(f"These settings do not fit together: {error}") from error


def outcomes(
    options: StudyOptions, cells: Sequence[Cell], out: Path
) -> dict[str, dict[str, Outcome]]:
    """Outcomes by method and name: read where there are some, found out where not."""
    seeds = options.seeds or 20
    found: dict[str, dict[str, Outcome]] = {}
    for number, cell in enumerate(cells):
        path = out / "cells" / f"{cell.method}-{cell.name.replace(' ', '-').replace(',', '')}.json"
        settings = json.loads(json.dumps(cell.as_json() | {"seeds": seeds, "task": options.task}))
        label = f"[{number + 1}/{len(cells)}] {cell.name} by {cell.method}"
        outcome = read_cell(path, settings)
        if outcome is None:
            try:
                outcome = _run(cell, options, seeds, label)
            except KeyboardInterrupt:
                raise UsageError(
                    f"stopped: finished cells are kept in {path.parent}; the same command goes on."
                ) from None
            facts = {"format": FORMAT, "kind": KIND, "anyorder": _version(), "settings": settings}
            write_json(path, facts | {"outcome": outcome.as_json()})
        else:
            console.print(f"{label}: kept from before", markup=False)
        found.setdefault(cell.method, {})[cell.name] = outcome
    return found


def _run(cell: Cell, options: StudyOptions, seeds: int, label: str) -> Outcome:
    env = TASKS[options.task]()
    episodes = 2 if options.smoke else 256

    def further(policy: InvariantPolicy) -> dict[str, Any]:
        if options.study != "encoders":
            return {}
        recovery, ended = after_shuffle(policy, env, episodes)
        return {
            "reshuffled": reshuffled(policy, env, episodes), "recovery": recovery, "ended": ended
        }  # fmt: skip

    outcome = run_cell(cell, env, seeds, further=further)
    console.print(
        f"{label}: score {outcome.scores[:, -1].mean():.0f} after {outcome.seconds:.0f} s, "
        f"and {outcome.compile_seconds:.0f} s of compiling",
        markup=False,
    )
    return outcome


def devices(found: dict[str, dict[str, Outcome]]) -> str:
    """Where the cells ran."""
    where = Counter(outcome.device for cells in found.values() for outcome in cells.values())
    return ", ".join(f"{device} ({count} cells)" for device, count in where.most_common())


def read_cell(path: Path, settings: dict[str, Any]) -> Outcome | None:
    """The outcome of a cell that is finished; None where there is none yet."""
    if not path.exists():
        return None
    try:
        facts = json.loads(path.read_text())
        same = facts["kind"] == KIND and facts["settings"] == settings
        outcome = Outcome.of(facts["outcome"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path} is damaged ({error}): remove it, and it is run again.") from error
    if not same:
        raise UsageError(f"{path} was run with other settings: choose another --out.")
    return outcome


def tell_nla(
    found: dict[str, dict[str, Outcome]], cells: Sequence[Cell], out: Path, made: dict[str, str]
) -> None:
    """Write what the study of nonlinear attention found."""
    facts = nla_results(found)
    write_json(out / "results.json", {"kind": "study", "study": "nla", "made": made, **facts})
    write_file(out / "report.md", nla_page(found, cells, made))
    for method, outcomes in found.items():
        draw_curves(outcomes, out / f"{method}-curves.png", unit=UNITS[method])
        threshold = main_threshold(outcomes[BASELINE])
        path = out / f"{method}-times.png"
        draw_reached(outcomes, path, unit=UNITS[method], threshold=threshold)
        console.print(f"\n{facts[method]['summary']}", markup=False)


def tell_encoders(found: dict[str, dict[str, Outcome]], out: Path, made: dict[str, str]) -> None:
    """Write how the encoders compare."""
    lines = ["# Encoders that do not know the order of their sensors", ""]
    facts: dict[str, Any] = {}
    for method, outcomes in found.items():
        table = encoder_table(outcomes, method)
        show(table)
        path = out / f"{method}-curves.png"
        lines += [f"## {table.title}", "", table.markdown(), "", f"![curves]({path.name})", ""]
        facts[method] = {name: outcome.as_json() for name, outcome in outcomes.items()}
        out.mkdir(parents=True, exist_ok=True)
        draw_curves(outcomes, path, unit=UNITS[method])
    lines += ["## How it was made", "", *(f"- {name}: {value}" for name, value in made.items())]
    write_json(out / "results.json", {"kind": "study", "study": "encoders", "made": made, **facts})
    write_file(out / "report.md", "\n".join(lines) + "\n")


def _version() -> str:
    from anyorder import __version__

    return __version__
