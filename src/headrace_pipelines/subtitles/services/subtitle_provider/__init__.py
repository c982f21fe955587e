"""Where subtitles are found."""
