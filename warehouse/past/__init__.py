"""What was loaded, as messages again: for judging the past anew."""
