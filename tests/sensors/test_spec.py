import dataclasses

import jax
import numpy as np
import pytest

from anyorder.sensors import (
    PERTURBATIONS,
    Chain,
    Double,
    Drop,
    Flicker,
    Flip,
    Noise,
    Ordeal,
    Rescale,
    Reshuffle,
    Sensors,
    Shuffle,
    Silent,
    Unchanged,
    chain,
    perturbation_named,
)

SAME = {
    "unchanged": Unchanged(),
    "shuffle": Shuffle(),
    "reshuffle:25": Reshuffle(25),
    "double": Double(2),
    "double:3": Double(3),
    "noise": Noise(5, 0.1),
    "noise:3:0.5": Noise(3, 0.5),
    "noise:3:1e-2": Noise(3, 0.01),
    "noise:3.0:2": Noise(3, 2.0),
    "noise:3:0.5:0.25": Noise(3, 0.5, 0.25),
    "silent:5:0.5": Silent(5, 0.5),
    "drop": Drop(1),
    "drop:2": Drop(2),
    "flicker:0.3:5": Flicker(0.3, 5),
    "ordeal:5:0.5": Ordeal(5, 0.5),
    "rescale:0.5:2": Rescale(0.5, 2),
    "flip:3": Flip(3),
    "double+noise:2:0.3+reshuffle:7": chain(Double(), Noise(2, 0.3), Reshuffle(7)),
    " double + shuffle ": chain(Double(), Shuffle()),
}


@pytest.mark.parametrize("text", SAME)
def test_a_text_stands_for_what_it_says(text):
    assert perturbation_named(text) == SAME[text]


def test_every_kind_has_an_example_and_sees_as_one_made_by_hand():
    kinds = {type(kind) for kind in SAME.values()}
    assert set(PERTURBATIONS.values()) | {Chain} == kinds
    sensors, key = Sensors.of([1.0, 2.0, 3.0, 4.0, 5.0]), jax.random.key(4)
    for text in ("ordeal:5", "double+noise:2:0.3+reshuffle:7"):
        typed, made = perturbation_named(text), SAME.get(text, Ordeal(5))
        for step in (0, 30):
            one, other = (p.apply(p.draw(key, 5, 40), sensors, step) for p in (typed, made))
            np.testing.assert_array_equal(one.values, other.values)
            np.testing.assert_array_equal(one.present, other.present)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no perturbation ''"),
        ("juggle", "there is no perturbation 'juggle'"),
        ("double+", "there is no perturbation ''"),
        ("Double", "there is no perturbation 'Double'"),
        ("reshuffle", "reshuffle needs every, as in reshuffle:25"),
        ("shuffle:3", "shuffle takes at most 0 numbers"),
        ("noise:5:0.1:1:2", "noise takes at most 3 numbers"),
        ("noise:5:0.1:2", "a share from 0 to 1"),
        ("noise:five", "must be a name and numbers, as in noise:5:0.1"),
        ("noise:", "must be a name and numbers"),
        ("noise:2.5", "channels must be a whole number, got 2.5"),
        ("ordeal:0.5", "extra must be a whole number, got 0.5"),
        ("noise:5:nan", "give finite numbers"),
        ("noise:5:1e999", "give finite numbers"),
        ("reshuffle:0", "Reshuffle needs every >= 1, got 0"),
        ("flicker:1.5", "probability from 0 to 1"),
        ("ordeal:-1", "Ordeal needs extra >= 0"),
    ],
)
def test_a_mistake_gets_one_clear_sentence(text, words):
    with pytest.raises(ValueError, match=r".") as caught:
        perturbation_named(text)
    said = str(caught.value)
    assert words in said
    assert "\n" not in said


def test_every_setting_is_a_number():
    for kind in PERTURBATIONS.values():
        assert {str(field.type) for field in dataclasses.fields(kind)} <= {"int", "float"}
