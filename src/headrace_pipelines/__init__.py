"""Pipelines that come with Headrace: customers of its public API, of which none knows another."""
