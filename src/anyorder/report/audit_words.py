"""What the audit's figures show, in sentences made of their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from anyorder.evaluation.audit import Audit
from anyorder.evaluation.estimate import Estimate
from anyorder.evaluation.identification import SINCE
from anyorder.evaluation.recovery import WINDOW
from anyorder.evaluation.twins import APART
from anyorder.evaluation.verdict import TOLERANCE
from anyorder.report.amounts import number


def small(value: float) -> str:
    """A number that may be very small.

    >>> small(0.0), small(3.2e-15), small(0.4123), small(12.3)
    ('0', '3e-15', '0.41', '12')
    """
    if value == 0 or math.isnan(value):
        return "0" if value == 0 else "–"
    return f"{value:.0e}".replace("e-0", "e-") if abs(value) < 0.001 else f"{value:.2g}"


def steps(value: Estimate) -> str:
    """A time that may not have come within the window."""
    if math.isnan(value.value):
        return "–"
    if math.isinf(value.value):
        return f"more than {WINDOW} steps"
    low, high = (
        f"{x:.0f}" if math.isfinite(x) else f"over {WINDOW}" for x in (value.low, value.high)
    )
    return f"{value.value:.0f} steps ({low} to {high})"


def with_interval(value: Estimate, form: str = "{:.0f}") -> str:
    """A number and its interval."""
    if math.isnan(value.value):
        return "–"
    told = (form.format(number) for number in (value.value, value.low, value.high))
    # A rounded nothing has no sign.
    mean, low, high = (text.lstrip("-") if not text.strip("-0.%") else text for text in told)
    return f"{mean} ({low} to {high})"


def on_orders(audit: Audit) -> str:
    """Fixed orders."""
    found, shuffled = audit.orders, audit.closed_loop.orders[0]
    every = f"all {found.orders}" if found.exhaustive else f"{found.orders}"
    same = found.worst_action < TOLERANCE
    text = f"shown {found.steps:,} steps of real episodes in {every} orders, its action "
    if same:
        text += (
            f"never changes by more than {small(found.worst_action)} (float64; in float32 by "
            f"{small(found.action['float32'].high)}): rounding and nothing else"
        )
    else:
        text += f"changes by up to {small(found.worst_action)}"
    return (
        f"{text}. Playing in another order changes its return by {with_interval(shuffled.change)}."
    )


def on_recovery(audit: Audit) -> str:
    """A shuffle in mid-episode."""
    found, once = audit.recovery, audit.closed_loop.orders[1]
    main, what = found.acting.main, "code" if found.acting.code else "action"
    lost = f"One such shuffle changes the return by {with_interval(once.change)}."
    if not main.size.value > TOLERANCE:
        return f"a shuffle does not move its {what} at all. {lost}"
    unit = " times its usual variation" if found.acting.code else ""
    text = (
        f"its {what} jumps by {with_interval(main.size, '{:.2f}')}{unit}. Acting, it has got over half of the "
        f"jump after {steps(main.half_life)} and over all but a twentieth after {steps(main.settled)}; "
        f"watching, over half after {steps(found.watching.main.half_life)}. {lost}"
    )
    if audit.twins is None:
        return text
    return (
        f"{text} With memory moved along, its action moves by {small(found.along_action)} instead."
    )


def on_memory(audit: Audit) -> str:
    """The capstone's ablations, and its claim."""
    rows = {row.name: row for row in audit.closed_loop.memory}
    kept, plain = rows["memory kept"], audit.closed_loop.plain
    if audit.twins is None or "memory permuted along" not in rows:
        return f"it earns {number(kept.ret.value)} of {number(plain.ret.value)}, and has no memory to move."
    along, zeroed = rows["memory permuted along"], rows["memory zeroed each step"]
    reset = rows["memory reset at each shuffle"]
    twins = audit.twins
    exact = twins.worst_code < TOLERANCE and twins.worst_return < TOLERANCE
    text = (
        f"undisturbed it earns {number(plain.ret.value)}; reshuffled every {twins.every} steps "
        f"{number(kept.ret.value)}, with its memory reset then {number(reset.ret.value)}, moved along "
        f"{number(along.ret.value)}, zeroed at every step {number(zeroed.ret.value)}. "
    )
    if exact:
        text += (
            f"Moving memory along recovers everything: in float64, twins that play whole episodes of up to "
            f"{twins.steps:,} steps, one of them reshuffled all along, never differ by more than "
            f"{small(twins.worst_code)} in code and {small(twins.worst_return)} in return"
        )
        if math.isfinite(twins.apart.value):
            text += (
                " (actions rounded to 16 bits; without that, chaos makes codes differ by "
                f"{APART:g} after {twins.apart.value:.0f} steps, and returns by "
                f"{with_interval(twins.apart_return, '{:.1f}')})"
            )
        return f"{text}."
    return (
        f"{text}Moving memory along does not recover everything: twins differ by up to "
        f"{small(twins.worst_code)} in code and {small(twins.worst_return)} in return."
    )


def on_slips(audit: Audit) -> str | None:
    """Ways to get it wrong."""
    rows = audit.closed_loop.slips
    if not rows:
        return None
    listed = "; ".join(f"{row.name} {number(row.ret.value)}" for row in rows)
    rows_by_name = {row.name: row for row in audit.closed_loop.memory}
    along = rows_by_name["memory permuted along"].ret.value
    kept = rows_by_name["memory kept"].ret.value
    return (
        f"moved rightly it earns {number(along)}, not at all {number(kept)}, and wrongly in these ways: "
        f"{listed}."
    )


def on_attention(audit: Audit) -> str | None:
    """Attention around a shuffle."""
    found = audit.attention
    if found is None:
        return None
    last = found.later[-1]
    return (
        f"at the shuffle {found.kept[0].value:.0%} of its attention is misplaced, {last} steps later "
        f"{found.kept[-1].value:.0%}; with memory moved along, {small(found.along[0].value)} (float32)."
    )


def on_noise(audit: Audit) -> Iterator[str]:
    """Channels of noise, and why they are or are not ignored."""
    if audit.noise is None:
        return
    rows = [row for row in audit.noise.rows if row.sd == audit.noise.rows[0].sd]
    first, last = rows[0], rows[-1]
    if last.steps == first.steps:
        fate = f"its return goes from {number(first.ret.value)} to {number(last.ret.value)}"
    else:
        fate = f"its return over {last.steps} steps changes by {with_interval(last.change)}"
    yield (
        f"with {last.channels} channels of noise, {last.mass.value:.0%} of the attention goes to them and "
        f"{fate}."
    )
    yield from audit.noise.why


def on_signals(audit: Audit) -> str | None:
    """What the neurons' inputs and their attention are good for."""
    rows = audit.closed_loop.signals
    if not rows:
        return None
    plain = audit.closed_loop.plain.ret.value
    ordered = sorted(rows, key=lambda row: row.ret.value)
    worst, best = ordered[0], ordered[-1]
    return (
        f"it misses most: {worst.name} ({number(worst.ret.value)} of {number(plain)} without), and least: "
        f"{best.name} ({number(best.ret.value)})."
    )


def on_identification(audit: Audit) -> str | None:
    """What neurons know of themselves."""
    found = audit.identification
    if found is None:
        return None
    after = found.after_shuffle
    back = next(
        (
            step
            for step, value in zip(found.since, after, strict=True)
            if value.episodes and value.value >= found.before.value - 0.05
        ),
        None,
    )
    told = f"comes within 5 points of it {back} steps later" if back is not None else (
        f"does not come within 5 points of it in {SINCE[-1]} steps"
    )  # fmt: skip
    return (
        f"before a shuffle the probe names {found.before.value:.0%} of the neurons' sensors (chance: "
        f"{found.chance:.0%}; from the present reading alone: {found.by_reading.value:.0%}), at the shuffle "
        f"{after[0].value:.0%}, and {told}."
    )


def on_faults(audit: Audit, names: list[str], faults: list[str], shares) -> str:
    """The worst and the mildest fault."""
    cells = [
        (float(shares[row, column]), f"{names[row]} {faults[column]}")
        for row in range(len(names))
        for column in range(len(faults))
        if not math.isnan(shares[row, column])
    ]
    if not cells:
        return "it earns nothing that could be lost."
    worst, best = min(cells), max(cells)
    return f"worst is {worst[1]} ({worst[0]:.0%} of the return is left), mildest {best[1]} ({best[0]:.0%})."
