"""A language model: `port` says what is needed of one, `live` asks real ones, `stand_in` plays one."""
