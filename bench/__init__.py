"""Headrace beside its peers: ``python -m bench`` measures all in one run and prints one table."""
