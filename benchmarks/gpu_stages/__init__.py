"""The stages of gpu.py: what each measures, and how it is stored and drawn.

settings.py
    What the command was asked for, and how much of everything a stage does.
records.py
    Parts and stages as stored; a part that is in the file is not done again.
stacks.py
    Stacks of the methods' networks, on any device.
losses.py, resume.py, audits.py
    Stage 1: the engine on the device against the CPU.
speed.py, products.py, sharing.py
    Stage 2: steps per second, share of the peak, jobs on one GPU.
board.py
    Stage 3: the whole board of Adults-Gender.
images.py
    Stage 4: SoFaiR on DSprites-Unfair.
small_data.py
    Small images and a small table, for what is done in little time.
drawings.py
    Figures of all that.
"""
