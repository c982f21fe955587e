"""Outside services that two or more pipelines use."""
