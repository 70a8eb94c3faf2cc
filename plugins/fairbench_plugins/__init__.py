"""The methods that come with fairbench: one module or folder per family."""

__fairbench_families__ = True
"""Families share no code, so an edit to one leaves the results of the others valid."""

__fairbench_same_results__ = {
    "65647175a6cdb46d": "722183acbd487b9b",  # adversarial
    "1b917c05b2c41660": "93c018cf4f92ed83",  # baselines
    "4e1ab1204ec6bd5a": "39a9b96f7448d551",  # cells
    "b7288e4060af6af8": "1f3ca12063df8e02",  # erasure
    "9c07958e735491b0": "d017402fa4049e5d",  # fare_tree
    "12383d04066affec": "2d9553672cbb05fa",  # fnf
    "a116bb602b8839ea": "a2cc21015f2fc8bc",  # lmifr
    "a1eca40da91302b7": "3f45b4923fe17cc0",  # merged_cells
    "19c5e47eaf701ea9": "9b4e7b3cbd9c5e5a",  # noise
    "22f67a69b76a53e1": "7d29fc18958b8e00",  # obliviator
    "5108579c1dddea6b": "1ed98b44d6d7a13b",  # penalties
    "10f74a27a0fdfc22": "03619929c8d19a17",  # sofair
    "3a6c0f39d8a7c4bd": "8a11eac711cb59c1",  # variational
}
"""Codes of sources that give the results of an earlier source, and the codes of that: to the last
bit where matrices are multiplied in float32, else to less than the spread over seeds.

Results of the earlier source are not made again. An edit of a family ends that for the family: take
its line out then, unless its figures were shown to be the same.
"""
