"""DSprites-Unfair: images of squares, ellipses and hearts; S is the quadrant of orientation.

The images are drawn by :mod:`fairbench_datasets.dsprites_unfair.render`.
"""
