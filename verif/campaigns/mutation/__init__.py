"""Faults put into a design one at a time: which of them the regression finds."""
