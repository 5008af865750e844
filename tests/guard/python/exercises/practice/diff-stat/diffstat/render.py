"""Shows the statistics as a table with bars."""


def render(stats, width=40):
    """One line for each file and a summary. No bar has more than `width` characters, but for rounding."""
    largest = max((stat.changes for stat in stats), default=0)
    scale = min(1, width / largest) if largest else 1
    name_width = max((len(stat.name) for stat in stats), default=0)
    count_width = len(str(largest))
    lines = []
    for stat in stats:
        bar = "+" * int(stat.added * scale) + "-" * int(stat.removed * scale)
        lines.append(f" {stat.name:<{name_width}} | {stat.changes:>{count_width}} {bar}".rstrip())
    lines.append(summary(stats))
    return "".join(line + "\n" for line in lines)


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
