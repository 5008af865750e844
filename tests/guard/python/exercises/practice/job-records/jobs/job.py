"""A job is a list. These are the places of its parts."""

ID, PRIORITY, NAME, PAYLOAD, ATTEMPTS = range(5)


def new_job(number, name, payload, priority):
    return [number, priority, name, payload, 0]
