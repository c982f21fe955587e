"""The media server that shows the videos."""
