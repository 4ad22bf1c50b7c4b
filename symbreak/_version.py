"""The version, alone so that nothing needs to import the whole package for it."""

__version__ = "0.1.0"
