"""Results where people would rather look: tables and figures."""

from anyorder.report.comparison import Comparison
from anyorder.report.evaluation_files import read_evaluations
from anyorder.report.figures import attention_over_time, learning_curve, return_histograms
from anyorder.report.page import MARKER, page
from anyorder.report.recording import Recording, record_reshuffled
from anyorder.report.shipped import shipped_table
from anyorder.report.tables import Table, evaluation_tables

__all__ = [
    "MARKER",
    "Comparison",
    "Recording",
    "Table",
    "attention_over_time",
    "evaluation_tables",
    "learning_curve",
    "page",
    "read_evaluations",
    "record_reshuffled",
    "return_histograms",
    "shipped_table",
]
