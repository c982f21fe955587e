"""Subtitles for a media library: found, translated where there is none, and every change of a job an event."""
