"""The methods that come with fairbench: one module or folder per family."""

__fairbench_families__ = True
"""Families share no code, so an edit to one leaves the results of the others valid."""

__fairbench_same_results__ = {
    "975d20e18cc29cf7": "722183acbd487b9b",  # adversarial
    "03152ef4f0a1fa9f": "93c018cf4f92ed83",  # baselines
    "efacd3995e91bf71": "39a9b96f7448d551",  # cells
    "89893d38b164097e": "1f3ca12063df8e02",  # erasure
    "dd96d598b199a8fa": "d017402fa4049e5d",  # fare_tree
    "e2bd6e35c768b1c9": "93737ded97b3ecbb",  # leace
    "815b74d885c3476f": "03fa602eace3dc06",  # lfr
    "095065e7bca60095": "75f1c5730513d0ad",  # lmifr
    "16cdeecf670f354e": "3f45b4923fe17cc0",  # merged_cells
    "19c5e47eaf701ea9": "9b4e7b3cbd9c5e5a",  # noise
    "1814eec4e5b22257": "7d29fc18958b8e00",  # obliviator
    "26b3baba5c2aa27a": "1ed98b44d6d7a13b",  # penalties
    "71242f56175f54bd": "03619929c8d19a17",  # sofair
    "b4a2446ef8df3557": "8a11eac711cb59c1",  # variational
}
"""Codes of sources that give the results of an earlier source, and the codes of that: to the last
bit where matrices are multiplied in float32, else to less than the spread over seeds.

Results of the earlier source are not made again. An edit of a family ends that for the family: take
its line out then, unless its figures were shown to be the same.
"""
