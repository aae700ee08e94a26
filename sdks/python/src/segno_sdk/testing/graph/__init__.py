"""Runs of graphs in a test, by the rules of a host."""
