class QuantityError(ValueError):
    """A text is no quantity."""

    def __init__(self, kind, text, reason):
        super().__init__(f"bad {kind} {text!r}: {reason}")
