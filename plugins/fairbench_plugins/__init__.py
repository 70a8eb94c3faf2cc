"""The methods that come with fairbench: one module or folder per family."""

__fairbench_families__ = True
"""Families share no code, so an edit to one leaves the results of the others valid."""

__fairbench_same_results__ = {
    "a1be79c7375a8c02": "d017402fa4049e5d",  # fare_tree
    "f498417b46dd6b01": "03619929c8d19a17",  # sofair
    "cb3effa3af09dc0e": "8a11eac711cb59c1",  # variational
    "30a09775aab8ade3": "722183acbd487b9b",  # adversarial
    "83a3534748e186fd": "3f45b4923fe17cc0",  # merged_cells
    "bd6dfae87672c155": "93c018cf4f92ed83",  # baselines
}
"""Codes of sources that give the results of an earlier source, and the codes of that: to the last
bit where matrices are multiplied in float32, else to less than the spread over seeds.

Results of the earlier source are not made again. An edit of a family ends that for the family: take
its line out then, unless its figures were shown to be the same.
"""
