"""What all commands share: options, progress, tables."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import tyro
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable

from anyorder.errors import UsageError
from anyorder.report.tables import Table

console = Console(highlight=False)
if not console.is_terminal:
    console = Console(highlight=False, width=110)
Options = TypeVar("Options")


def parse(options: type[Options], name: str, description: str, arguments: list[str]) -> Options:
    """Options from the command line; tyro explains what does not fit and exits with 2."""
    return tyro.cli(options, prog=f"anyorder {name}", description=description, args=arguments)


def progress_bar(unit: str) -> Progress:
    """A bar with elapsed and remaining time and a free line of facts."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[facts]}"),
        console=console,
        refresh_per_second=4,
    )


def show(table: Table) -> None:
    """Print a table, blank cells in the first column repeating the one above."""
    rich = RichTable(
        title=escape(table.title),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        padding=(0, 1),
    )
    for index, column in enumerate(table.columns):
        rich.add_column(column, justify="left" if index < 2 else "right", no_wrap=True)
    for row in table.rows:
        rich.add_row(*map(escape, row))
    console.print(rich)
    if table.note:
        console.print(f"  {escape(table.note)}", style="dim")


def write_json(path: Path, facts: Mapping[str, Any]) -> None:
    """Write what a machine should read."""
    write_file(path, json.dumps(facts, indent=2) + "\n")


def write_file(path: Path, text: str) -> None:
    """Write a file whole, and its folder where there is none."""
    from anyorder.runs import write_text

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror}): give another file."
        ) from error


def changed(given: Any, stored: Mapping[str, Any], prefix: str) -> list[str]:
    """Settings given on the command line that differ from those a run was started with."""
    default = type(given)()
    return [
        f"--{prefix}.{field.name.replace('_', '-')}"
        for field in dataclasses.fields(given)
        if getattr(given, field.name) != getattr(default, field.name)
        and getattr(given, field.name) != stored.get(field.name)
    ]


def keep_compiled_code() -> None:
    """Let JAX keep compiled code between runs, in the user's cache folder."""
    import jax

    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        (root / "anyorder").mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    jax.config.update("jax_compilation_cache_dir", str(root / "anyorder" / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
