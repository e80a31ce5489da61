"""Optional packages, loaded when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from anyorder.errors import UsageError


def load_extra(module: str, extra: str) -> Any:
    """The module, or a UsageError that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f'This needs {module.partition(".")[0]}, which is not here: run pip install "anyorder[{extra}]".'
        ) from error
