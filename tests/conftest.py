"""Settings for all tests: hypothesis examples are the same in every run, and have no deadline."""

from hypothesis import settings

settings.register_profile("symbreak", derandomize=True, deadline=None, max_examples=50)
settings.register_profile(
    "long", deadline=None, max_examples=5_000
)  # pytest --hypothesis-profile=long
settings.load_profile("symbreak")
