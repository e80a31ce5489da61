"""A worker process: `python -m anyorder.rollout.worker SOCKET` plays what it is sent until the line is dead."""

from __future__ import annotations

import sys
import threading
import warnings
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from anyorder.errors import UsageError
from anyorder.rollout.player import player_of


def main(socket: int) -> None:
    """Answer each item with what it came to, or with what went wrong."""
    warnings.simplefilter("ignore")  # of each worker the same, across the progress bar
    line = Connection(socket)
    inbox: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_read, args=(line, inbox), daemon=True).start()
    program = b""
    while (message := inbox.get()) is not None:
        new, item = message
        program = program if new is None else new
        try:
            answer = player_of(program).play(item)
        except UsageError as error:
            answer = error
        except Exception as error:
            answer = RuntimeError(f"A worker could not play: {type(error).__name__}: {error}")
        try:
            line.send(answer)
        except OSError:
            return


def _read(line: Connection, inbox: SimpleQueue[Any]) -> None:
    """Take items in while others are played: whoever sends a large one does not wait for us."""
    try:
        while True:
            inbox.put(line.recv())
    except (EOFError, OSError):
        inbox.put(None)


if __name__ == "__main__":
    main(int(sys.argv[1]))
