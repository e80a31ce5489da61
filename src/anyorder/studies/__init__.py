"""Questions put to the package as experiments: what is run, what came of it, what that says."""

from anyorder.studies.cell import Cell, Outcome, run_cell
from anyorder.studies.encoders import encoder_cells, encoder_table
from anyorder.studies.nla import KEY_MAPS, Budget, agent_config, matched_width, nla_cells
from anyorder.studies.nla_figures import draw_curves, draw_reached
from anyorder.studies.nla_report import main_threshold, nla_page
from anyorder.studies.nla_report import results as nla_results
from anyorder.studies.times import Comparison, compare, reached_times

__all__ = [
    "KEY_MAPS",
    "Budget",
    "Cell",
    "Comparison",
    "Outcome",
    "agent_config",
    "compare",
    "draw_curves",
    "draw_reached",
    "encoder_cells",
    "encoder_table",
    "main_threshold",
    "matched_width",
    "nla_cells",
    "nla_page",
    "nla_results",
    "reached_times",
    "run_cell",
]
