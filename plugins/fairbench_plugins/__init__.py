"""The methods that come with fairbench: one module or folder per family."""

__fairbench_families__ = True
"""Families share no code, so an edit to one leaves the results of the others valid."""

__fairbench_same_results__ = {
    "a1be79c7375a8c02": "d017402fa4049e5d",  # fare_tree
    "501ba55b856a8a70": "03619929c8d19a17",  # sofair
    "d441c566d38f92a7": "8a11eac711cb59c1",  # variational
}
"""Codes of sources that give the results of version 0.1, and the codes of those: to the last bit
where matrices are multiplied in float32, else to less than the spread over seeds.

Results folders of version 0.1 are resumed by it. An edit of a family ends that for the family: take
its line out then, unless its figures were shown to be the same.
"""
