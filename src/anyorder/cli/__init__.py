"""The command line. Each command lives in a file of its own and is imported when it is called."""

from __future__ import annotations

import importlib
import sys

COMMANDS = {
    "train": "train an agent: anyorder train cartpole --out runs/first",
    "evaluate": "test an agent: anyorder evaluate cartpole --protocol paper",
    "audit": "how much does the order matter? anyorder audit cartpole --html audit.html",
    "report": "compare runs in one page: anyorder report runs/* --out report.html",
    "study": "run an experiment: anyorder study nla, anyorder study encoders",
    "bench": "time a generation beside EvoJAX's and a plain PyTorch loop's",
    "zoo": "list the agents that come with anyorder",
    "import": "turn released weights into an agent: anyorder import cartpole_pi.npz",
    "demo": "train a small agent before your eyes, then show what the shipped one can do",
}
MODULES = {"import": "import_"}


def usage() -> str:
    """What `anyorder --help` prints."""
    from anyorder import __version__

    width = max(map(len, COMMANDS))
    lines = [
        f"anyorder {__version__}: agents that work whatever the order, number or quality of their sensors.",
        "",
        "usage: anyorder COMMAND [options]      (anyorder COMMAND --help explains each)",
        "",
        *(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items()),
        "",
        "An AGENT is a run folder or the name of a shipped agent; a TASK is a world: cartpole, gym:Ant-v5.",
        "A first session:",
        "",
        "  anyorder evaluate cartpole --protocol paper    how good is the shipped agent?",
        "  anyorder train cartpole --minutes 2 --out runs/first",
        "  anyorder evaluate runs/first --protocol shuffled",
        "  anyorder report runs/first",
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run one command; mistakes a user can mend end in one sentence and exit code 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return
    if arguments[0] in ("--version", "-V"):
        from anyorder import __version__

        print(f"anyorder {__version__}")
        return
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        print(
            f"anyorder: there is no command {name!r}; there are {', '.join(COMMANDS)}.",
            file=sys.stderr,
        )
        raise SystemExit(2)
    from anyorder.errors import UsageError

    module = importlib.import_module(f"anyorder.cli.{MODULES.get(name, name)}")
    try:
        module.main(rest)
    except UsageError as error:
        print(f"anyorder: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:
        raise SystemExit(1) from None
