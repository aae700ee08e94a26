"""Graphs of steps in code: functions that build a plan, which the host runs."""
