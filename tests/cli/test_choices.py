"""Every choice about the neurons can be typed."""

from typing import Any, get_args

import pytest

from anyorder.cli.console import parse
from anyorder.cli.train import TrainOptions, _facts, make_learner
from anyorder.errors import UsageError
from anyorder.neurons import AttentionNeuron, DeepSetsNeuron
from anyorder.neurons.config import CHOICES


def typed(*arguments):
    """The policy that these words make."""
    options = parse(TrainOptions, "train", "", ["cartpole", *arguments])
    learner: Any = make_learner(_facts(options, ""))[0]
    return learner.policy


def test_parts_are_named_one_by_one():
    policy = typed(
        "--neuron.score", "additive", "--neuron.key-map", "gated", "--neuron.weighting", "softmax",
        "--neuron.queries", "learned", "--neuron.heads", "2", "--neuron.no-previous-action",
    )  # fmt: skip
    config = policy.neuron.config
    assert isinstance(policy.neuron, AttentionNeuron)
    assert (config.score, config.key_map, config.queries) == ("additive", "gated", "learned")
    assert policy.neuron.cell.weight_ih.shape[1] == 1
    assert isinstance(typed("--neuron.kind", "deep-sets").neuron, DeepSetsNeuron)


@pytest.mark.parametrize("setting", CHOICES)
def test_every_name_there_is_is_understood(setting):
    for choice in get_args(CHOICES[setting]):
        arguments = [f"--neuron.{setting.replace('_', '-')}", choice]
        options = parse(TrainOptions, "train", "", ["cartpole", *arguments])
        assert getattr(options.neuron, setting) == choice


def test_searching_where_scores_do_not_fold_is_refused():
    with pytest.raises(UsageError, match="folded space"):
        typed("--neuron.score", "additive", "--es.space", "folded")
    assert typed("--neuron.key-map", "gated", "--es.space", "folded").neuron.config.heads == 1
