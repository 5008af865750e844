"""Shows the statistics as a table with bars."""


def render(stats, width=40):
    """One line for each file and a summary. No bar has more than `width` characters, but for rounding."""
    largest = max((stat.changes for stat in stats), default=0)
    name_width = max((len(stat.name) for stat in stats), default=0)
    count_width = len(str(largest))
    lines = []
    for stat in stats:
        bar = "+" * _scaled(stat.added, width, largest) + "-" * _scaled(stat.removed, width, largest)
        lines.append(f" {stat.name:<{name_width}} | {stat.changes:>{count_width}} {bar}".rstrip())
    lines.append(summary(stats))
    return "".join(line + "\n" for line in lines)


def _scaled(number, width, largest):
    """How many characters stand for a number of lines. Some lines are never shown as nothing."""
    if largest <= width or number == 0:
        return number
    return max((2 * number * width + largest) // (2 * largest), 1)


def summary(stats):
    parts = [_count(len(stats), "file") + " changed"]
    added = sum(stat.added for stat in stats)
    removed = sum(stat.removed for stat in stats)
    if added:
        parts.append(_count(added, "insertion") + "(+)")
    if removed:
        parts.append(_count(removed, "deletion") + "(-)")
    return " " + ", ".join(parts)


def _count(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
