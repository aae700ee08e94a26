"""All programs, as one module."""
