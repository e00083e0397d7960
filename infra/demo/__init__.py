"""The demo: every part on this machine, one story, one scoreboard."""
