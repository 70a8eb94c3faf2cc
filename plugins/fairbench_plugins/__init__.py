"""The methods that come with fairbench: one module or folder a family."""
