"""Agents in ONNX files, run by onnxruntime. Such a file holds a graph and numbers, no code."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from anyorder.bridges.extras import load_extra
from anyorder.bridges.gym_worlds import GymInterface
from anyorder.bridges.networks import NetworkSubject
from anyorder.errors import UsageError

NUMBERS = {"tensor(float)": np.float32, "tensor(double)": np.float64}


def open_onnx(path: Path, interface: GymInterface) -> NetworkSubject:
    """The network in an ONNX file: one input, of which the first output is the answer."""
    runtime = load_extra("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # what we try and it refuses is ours to tell
    options.intra_op_num_threads = 1  # these networks are too small to share out
    try:
        session = runtime.InferenceSession(
            str(path), sess_options=options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's exceptions share no base of their own
        raise UsageError(f"{path} is not an ONNX file that onnxruntime can run.") from error
    inputs = session.get_inputs()
    if len(inputs) != 1 or inputs[0].type not in NUMBERS:
        listed = ", ".join(f"{found.name} {found.type}" for found in inputs)
        raise UsageError(
            f"{path} must take observations alone, as floating-point numbers, and takes {listed}: wrap a "
            "network with other inputs in a Python class with reset and act."
        )
    (taken,), answer = inputs, session.get_outputs()[0].name
    dtype = NUMBERS[taken.type]

    def forward(observations: np.ndarray) -> np.ndarray:
        return session.run([answer], {taken.name: observations.astype(dtype)})[0]

    return NetworkSubject(path.name, interface, forward)
