"""The built-in datasets of fairbench, one module or folder each."""
