"""The best that can be done when it is known which sensor is which: a teacher, and a ceiling."""

from anyorder.oracle.cache import OracleConfig, load_oracle
from anyorder.oracle.controller import Oracle
from anyorder.oracle.iteration import Level

__all__ = ["Level", "Oracle", "OracleConfig", "load_oracle"]
