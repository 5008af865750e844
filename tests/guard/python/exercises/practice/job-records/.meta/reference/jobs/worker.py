"""Works off a queue."""


def run(queue, handlers, max_attempts=3):
    """Takes jobs until none is left. Returns the jobs that failed for good.

    A job fails for good if no handler has its name, or if its handler has raised `max_attempts` times.
    """
    failed = []
    while True:
        job = queue.take()
        if job is None:
            return failed
        handler = handlers.get(job.name)
        if handler is None:
            failed.append(job)
            continue
        try:
            handler(job.payload)
        except Exception:
            if job.attempts + 1 >= max_attempts:
                failed.append(job)
            else:
                queue.retry(job)
