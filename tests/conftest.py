"""What all tests share."""

from pathlib import Path

import jax
import pytest
from hypothesis import HealthCheck, settings

# Compiling is most of what the tests do; results are the same to well within their tolerances.
jax.config.update("jax_disable_most_optimizations", True)

settings.register_profile(
    "anyorder",
    max_examples=15,
    deadline=None,  # the first example of a size compiles
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("anyorder")

REFERENCE = Path(__file__).parents[2] / "shared" / "reference"


@pytest.fixture
def key():
    return jax.random.key(0)


@pytest.fixture(scope="session")
def released():
    """The folder with the authors' weights, where it is at hand."""
    if not REFERENCE.is_dir():
        pytest.skip("the authors' released weights are not beside this checkout")
    return REFERENCE
