"""All programs, as one module."""
# ruff: noqa: F401

import cancel_cleanup
import child_send
import fan_out_all
import generation
import graph_failure
import graph_run
import http_step
import limits_labels
import named_signal_timeout
import object_counter
import object_promise
import promise_timeout
import query_update
import race_sleep
import retry_then_fail
import run_random
import saga_undo
import sequence
import signal_race_loser
import unhandled_defect
