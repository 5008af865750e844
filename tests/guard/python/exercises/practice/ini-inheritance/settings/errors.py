class SettingsError(Exception):
    """Something is wrong in a settings file. `line` counts from 1."""

    def __init__(self, line, message):
        super().__init__(f"line {line}: {message}")
        self.line = line
        self.message = message
