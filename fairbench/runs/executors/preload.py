"""Imported once by the fork server, so that each job starts with the heavy libraries in place."""

import gc

import psutil
import sklearn.ensemble
import sklearn.linear_model
import torch
import torch._dynamo  # which the first optimiser of a process would load, in 1.4 s of each job

import fairbench.auditing.evaluate
import fairbench.runs.fit_job
import fairbench.training.trainer

__all__ = ["fairbench", "psutil", "sklearn", "torch"]

# What is loaded now is never garbage: jobs that do not look at it share its memory.
gc.freeze()
gc.enable()
