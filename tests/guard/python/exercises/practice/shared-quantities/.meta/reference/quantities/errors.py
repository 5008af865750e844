class QuantityError(ValueError):
    """A text is no quantity. `column` counts from 1."""

    def __init__(self, kind, text, reason, column):
        super().__init__(f"bad {kind} {text!r}: {reason} at column {column}")
        self.column = column
