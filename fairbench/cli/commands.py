"""The table of commands: panels of the help by reader, in their order.

A command's file is imported when the command is used: ``fairbench --help`` is fast.
"""

from __future__ import annotations

from fairbench.cli.forms import Forms
from fairbench.cli.lazy import Entry

RESEARCHERS = "Researchers"
READERS = "Readers of leaderboards"
OWN_DATA = "Your own data and models"
MAINTENANCE = "Results and maintenance"

COMMANDS = {
    "run": Entry(
        RESEARCHERS,
        "Train, audit and rank methods. A rerun does only what is missing.",
        "run:run_command",
    ),
    "search": Entry(
        RESEARCHERS,
        "Search a method's hyperparameters on the validation set.",
        "search:search_command",
    ),
    "list": Entry(
        RESEARCHERS,
        "List methods, datasets or metrics, built-in and from plugins.",
        "list_plugins:list_command",
    ),
    "check": Entry(
        RESEARCHERS,
        "Check that a plugin implements its interface.",
        "check:check_command",
    ),
    "plugin": Entry(
        RESEARCHERS,
        "Write a new plugin, or print the hash of a method's source.",
        {"new": "plugin:plugin_new_command", "code": "plugin_code:plugin_code_command"},
    ),
    "submit": Entry(
        RESEARCHERS,
        "Write one row of the results as a small file, to be verified and added to a board.",
        "submit:submit_command",
    ),
    "verify": Entry(
        RESEARCHERS,
        "Check a submission: train and audit some of its points again, most drawn by chance.",
        "verify:verify_command",
    ),
    "calibrate": Entry(
        RESEARCHERS,
        "Test the auditors on synthetic data whose I(Z;S) is known.",
        "calibrate:calibrate_command",
    ),
    "leaderboard": Entry(
        READERS, "Print the leaderboards, and write them as CSV files.", "leaderboard:leaderboard"
    ),
    "board": Entry(
        READERS,
        "Published boards: list, print and show them, or write one of your results.",
        {
            "list": "boards:board_list",
            "show": "boards:board_show",
            "page": "boards:board_page",
            "changes": "boards:board_changes",
            "export": "boards:board_export",
        },
    ),
    "cite": Entry(
        READERS,
        "Print BibTeX entries of a board: its methods, its dataset, and fairbench.",
        "cite:cite_command",
    ),
    "plot": Entry(
        READERS,
        "Draw figures for a paper: curves, fronts, unseen tasks, cost, ranks, auditors.",
        "plot:plot",
    ),
    "report": Entry(
        READERS, "Write one HTML page of all results; it opens offline.", "report:report"
    ),
    "data": Entry(
        OWN_DATA,
        "List and check datasets, or describe a table of your own.",
        {
            "list": "data:data_list_command",
            "describe": "data:data_describe_command",
            "check": "data:data_check_command",
            "fetch": "data:data_fetch_command",
            "export": "data_export:data_export_command",
            "new": "data_new:data_new_command",
        },
    ),
    "audit": Entry(
        OWN_DATA,
        "Audit arrays of your own, or stored representations again.",
        {
            "--z FILE --s FILE": "audit_arrays:audit_arrays_command",
            "--results DIR": "audit_results:audit_results_command",
        },
        Forms,
    ),
    "recommend": Entry(
        OWN_DATA,
        "Recommend a stored point within a leakage limit. Exit code 1 where none fits.",
        "recommend:recommend_command",
    ),
    "encode": Entry(
        OWN_DATA,
        "Encode new rows with a trained model.",
        "encode:encode_command",
    ),
    "model-card": Entry(
        OWN_DATA,
        "Write the model card of a trained encoder (Markdown): data, leakage, limits, commands.",
        "model_card:model_card_command",
    ),
    "explain": Entry(
        OWN_DATA,
        "Show which bits of a representation are released as the knob loosens.",
        "explain:explain_command",
    ),
    "status": Entry(
        MAINTENANCE,
        "Show run progress: models and points by status, and failures.",
        "status:status",
    ),
    "results": Entry(
        MAINTENANCE,
        "Move results between machines, or take passwords or imports out of them.",
        {
            "export": "results:results_export",
            "import": "results:results_import",
            "remove": "results:results_remove",
            "redact": "redact:results_redact",
        },
    ),
    "clean": Entry(
        MAINTENANCE,
        "Delete stored representations, encoders, checkpoints and logs; results stay.",
        "clean:clean",
    ),
}
