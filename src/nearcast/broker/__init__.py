"""The live broker: it applies the log with the kernel, and tells clients within milliseconds, each thing once."""
