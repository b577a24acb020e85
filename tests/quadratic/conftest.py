"""Properties here repeat themselves, and do not fail because the machine is busy."""

from hypothesis import settings

settings.register_profile("repeatable", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("repeatable")
