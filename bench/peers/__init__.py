"""The systems: each module is a process that ``bench.child`` talks to."""
