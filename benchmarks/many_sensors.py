"""A layer of sensory neurons from 5 to 1,000,000 sensors on the CPU: time and memory, plain and in chunks.

    python benchmarks/many_sensors.py                  prints the table, writes many_sensors.png and .json

Every size is measured in a process of its own, so that the peak of its memory is its own. The table says
how much that peak is above the same process's after a layer of 5 sensors. The last line is one decision of
the 913-parameter agent with 5 sensors: through JAX and by the compiled agent.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SIZES = (5, 100, 1_000, 10_000, 100_000, 1_000_000)
MIB = 2**20


@dataclass(frozen=True)
class Options:
    """What to measure."""

    sizes: tuple[int, ...] = SIZES
    """Numbers of sensors."""
    seconds: float = 2.0
    """About how long each size is measured."""
    out: Path = HERE / "many_sensors"
    """Figure (.png) and numbers (.json) go here."""


def peak() -> int:
    """Most bytes this process has held at a time."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(path: str, n_sensors: int, seconds: float) -> dict[str, float]:
    """Seconds of a layer's call, in the middle and at best, and bytes it needs above a small one's."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from anyorder.neurons import AttentionNeuron
    from anyorder.neurons.chunked import listen_in_chunks
    from anyorder.sensors import Sensors

    neuron = AttentionNeuron(5, 1, key=jax.random.key(0))

    def run(sensors, action, memory):
        if path == "chunks":
            return listen_in_chunks(neuron, sensors, action, memory)
        return neuron(sensors, action, memory)

    layer = eqx.filter_jit(run, donate="all")

    def call(n, budget):
        memory = jax.tree.map(
            jnp.copy, neuron.init(n)
        )  # two arrays, so that both can be given away
        times, began = [], time.perf_counter()
        while len(times) < 4 or time.perf_counter() - began < budget:
            sensors = Sensors.of(jnp.linspace(-1, 1, n))
            jax.block_until_ready((sensors, memory))
            start = time.perf_counter()
            code, memory = layer(sensors, jnp.zeros(1), memory)
            jax.block_until_ready((code, memory))
            times.append(time.perf_counter() - start)
        return times[1:]  # the first compiles

    call(5, 0.0)
    before = peak()
    times = call(n_sensors, seconds)
    return {
        "seconds": statistics.median(times),
        "best": min(times),
        "bytes": max(0, peak() - before),
        "peak": peak(),
    }


def decisions() -> dict[str, float]:
    """Microseconds of one decision with 5 sensors: of the policy under jit, and compiled alone."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from anyorder.policies import InvariantPolicy
    from anyorder.rollout.single import compiled
    from anyorder.sensors import Sensors

    policy = InvariantPolicy(5, 1, key=jax.random.key(0))
    readings = np.array([0.3, -1.0, -0.9, 0.4, 2.0], np.float32)

    def micro(step, memory):
        times = []
        for _ in range(3000):
            start = time.perf_counter()
            _, memory = step(memory)
            times.append(time.perf_counter() - start)
        return 1e6 * statistics.median(times[100:])

    agent = compiled(policy)
    act = jax.jit(lambda values, memory: policy(Sensors.of(values), memory))

    def through_jax(memory):
        action, memory = act(jnp.asarray(readings), memory)
        return np.asarray(action), memory

    return {
        "jax": micro(through_jax, policy.init(5)),
        "compiled": micro(lambda memory: agent(readings, memory), agent.init(5)),
    }


def elsewhere(*arguments: object) -> dict[str, float]:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--measure", *map(str, arguments)],
        capture_output=True, text=True, check=True, env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def draw(rows: dict[str, dict[int, dict[str, float]]], path: Path) -> None:
    """Time and memory against the number of sensors, both axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes: Any = figure.subplots(1, 2)
    for name, found in rows.items():
        sizes = list(found)
        axes[0].loglog(sizes, [1000 * found[n]["seconds"] for n in sizes], "o-", label=name)
        axes[1].loglog(sizes, [max(found[n]["bytes"], MIB) / MIB for n in sizes], "o-", label=name)
    axes[0].set(xlabel="sensors", ylabel="ms a call")
    axes[1].set(xlabel="sensors", ylabel="MiB above a layer of 5")
    for one in axes:
        one.grid(alpha=0.3)
        one.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main(options: Options) -> None:
    """Measure every size both ways, show, draw."""
    from rich.console import Console
    from rich.table import Table

    rows: dict[str, dict[int, dict[str, float]]] = {"plain": {}, "chunks": {}}
    table = Table("sensors", *(f"{name}, {unit}" for name in rows for unit in ("ms", "MiB")))
    for n in options.sizes:
        cells = []
        for name, found in rows.items():
            found[n] = elsewhere(name, n, options.seconds)
            cells += [f"{1000 * found[n]['seconds']:.3g}", f"{found[n]['bytes'] / MIB:.0f}"]
        table.add_row(f"{n:,}", *cells)
    speeds = elsewhere("decisions")
    console = Console(width=100)
    console.print(table)
    most = max(rows["chunks"])
    whole = rows["chunks"][most]["peak"] / 2**30
    console.print(f"The whole process with {most:,} sensors in chunks: {whole:.2f} GiB at most.")
    console.print(
        f"A decision with 5 sensors: {speeds['jax']:.0f} µs through JAX, "
        f"{speeds['compiled']:.1f} µs by the compiled agent."
    )
    draw(rows, options.out.with_suffix(".png"))
    facts = {"rows": rows, "microseconds_per_decision": speeds}
    options.out.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        what, *numbers = sys.argv[2:]
        result = (
            decisions()
            if what == "decisions"
            else measure(what, int(numbers[0]), float(numbers[1]))
        )
        print(json.dumps(result))
    else:
        import tyro

        main(tyro.cli(Options, description=__doc__))
