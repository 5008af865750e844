"""The queue."""

from .job import Job


class Queue:
    """Hands out the job with the highest priority. Among equals, the one that has waited longest comes first."""

    def __init__(self, jobs=(), next_id=1):
        self._jobs = list(jobs)
        self.next_id = next_id

    def add(self, name, payload=None, priority=0):
        """Appends a job and returns it."""
        job = Job(self.next_id, name, payload, priority)
        self.next_id += 1
        self._jobs.append(job)
        return job

    def take(self):
        """Removes the next job and returns it, or returns None."""
        if not self._jobs:
            return None
        place = max(range(len(self._jobs)), key=lambda place: self._jobs[place].priority)
        return self._jobs.pop(place)

    def retry(self, job):
        """Puts back a job that failed, behind the others of its priority."""
        job.attempts += 1
        self._jobs.append(job)

    def cancel(self, number):
        """Removes the job with this id. True if there was one."""
        for place, job in enumerate(self._jobs):
            if job.id == number:
                del self._jobs[place]
                return True
        return False

    def jobs(self):
        """The waiting jobs in the order in which they will be taken."""
        return sorted(self._jobs, key=lambda job: -job.priority)

    def __len__(self):
        return len(self._jobs)
