"""Outside services of this pipeline: what it needs of each (port), the real one (live), and a stand-in."""
