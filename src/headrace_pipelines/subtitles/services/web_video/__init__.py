"""Videos that lie on the web."""
