"""What goes wrong by the hand of a user."""


class UserError(Exception):
    """A mistake that the user can mend: the text names the file, line, target or setting, and what to do.

    The `lockstep` command prints it as one line and exits with status 2; no traceback.
    """
