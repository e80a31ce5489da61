"""Run folders with given scores, written through the package's own writers."""

import json
import time

from anyorder.runs import RunFolder


def make_run(path, *, scores=(1.0,), seed=0, every=10, **facts):
    """A run tested each `every` steps, or tenths of that in seconds, at `scores`."""
    told = {
        "anyorder": "0.1.0",
        "task": "cartpole",
        "method": "es",
        "policy": "mlp",
        "policy_config": {"hidden": 16},
        "config": {"sigma": 0.1},
        "seed": seed,
        "rollout": "fused",
        "command": f"anyorder train cartpole --policy mlp --seed {seed}",
        "device": "cpu (cpu)",
        "started": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
    }
    folder = RunFolder.create(path, told | facts)
    lines = [
        {"update": n, "steps": every * n, "seconds": every * n / 10, "test": score}
        for n, score in enumerate(scores, start=1)
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder.path
