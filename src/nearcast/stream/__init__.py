"""Spark places the kernel: the same answers over files, and over a log that does not end."""
