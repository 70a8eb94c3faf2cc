"""The channels of ``fairbench calibrate``, by name."""

from __future__ import annotations

from fairbench.auditing.validation.channels import CHANNELS_OF_Z
from fairbench.auditing.validation.channels_of_patterns import CHANNELS_OF_PATTERNS
from fairbench.auditing.validation.channels_of_x import CHANNELS_OF_X

CHANNELS = {
    channel.name: channel for channel in (*CHANNELS_OF_Z, *CHANNELS_OF_PATTERNS, *CHANNELS_OF_X)
}
