"""All programs, as one module."""
# ruff: noqa: F401

import activities
import calls
import cancel
import errors
import generations
import graphs
import handlers
import http_steps
import objects
import promises
import runs
import sagas
import signals
import streams
import values
import waits
