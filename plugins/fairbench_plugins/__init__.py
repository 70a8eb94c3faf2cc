"""The methods that come with fairbench: one module or folder per family."""

__fairbench_families__ = True
"""Families share no code, so an edit to one leaves the results of the others valid."""

__fairbench_same_results__ = {
    "65647175a6cdb46d": "722183acbd487b9b",  # adversarial
    "146afd7c1317ef18": "93c018cf4f92ed83",  # baselines
    "a41771a850b278e7": "39a9b96f7448d551",  # cells
    "b780668cdc9317a2": "1f3ca12063df8e02",  # erasure
    "0ea2396187dee490": "d017402fa4049e5d",  # fare_tree
    "2695b0fbbcba6915": "2d9553672cbb05fa",  # fnf
    "e2936d7b93a1a42b": "93737ded97b3ecbb",  # leace
    "4db263cc4a0599ef": "03fa602eace3dc06",  # lfr
    "cfb678effdb26630": "3f45b4923fe17cc0",  # merged_cells
    "19c5e47eaf701ea9": "9b4e7b3cbd9c5e5a",  # noise
    "c024620f44419e34": "7d29fc18958b8e00",  # obliviator
    "3e260982b0fd26f0": "1ed98b44d6d7a13b",  # penalties
    "f1c6b5dbf2468d1e": "03619929c8d19a17",  # sofair
    "19ab25a230154b4f": "8a11eac711cb59c1",  # variational
}
"""Codes of sources that give the results of an earlier source, and the codes of that: to the last
bit where matrices are multiplied in float32, else to less than the spread over seeds.

Results of the earlier source are not made again. An edit of a family ends that for the family: take
its line out then, unless its figures were shown to be the same.
"""
