import io
import json
import tempfile
import unittest
from pathlib import Path

import jobs.job
from jobs import Queue, StoreError, load, run, save
from jobs.cli import main


class Case(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.path = Path(place.name, "queue.json")

    def write(self, data):
        self.path.write_text(json.dumps(data), encoding="utf-8")

    def read(self):
        return json.loads(self.path.read_text(encoding="utf-8"))

    def names(self, queue):
        names = []
        while len(queue):
            names.append(queue.take().name)
        return names

    def cli(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        code = main([str(self.path), *arguments], out, err)
        return code, out.getvalue(), err.getvalue()


class JobTest(Case):
    def test_fields(self):
        job = jobs.Job(7, "mail", {"to": "ann"})
        self.assertEqual((job.priority, job.attempts, job.extra), (0, 0, {}))
        self.assertEqual(jobs.Job(7, "mail", None, 2, 1, {"a": 1}).extra, {"a": 1})
        self.assertIsNot(job.extra, jobs.Job(8, "mail", None).extra)
        self.assertEqual(job, jobs.job.Job(7, "mail", {"to": "ann"}, 0, 0))

    def test_old_names_are_gone(self):
        for name in ("ID", "PRIORITY", "NAME", "PAYLOAD", "ATTEMPTS", "new_job"):
            self.assertFalse(hasattr(jobs.job, name), name)


class QueueTest(Case):
    def test_empty(self):
        self.assertIsNone(Queue().take())
        self.assertEqual(Queue().jobs(), [])

    def test_add(self):
        queue = Queue(next_id=4)
        self.assertEqual(queue.add("mail", [1], 2), jobs.Job(4, "mail", [1], 2))
        self.assertEqual((queue.next_id, len(queue)), (5, 1))

    def test_order(self):
        queue = Queue()
        for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5), ("e", -1)):
            queue.add(name, None, priority)
        self.assertEqual([job.name for job in queue.jobs()], ["b", "d", "a", "c", "e"])
        self.assertEqual(self.names(queue), ["b", "d", "a", "c", "e"])

    def test_retry(self):
        queue = Queue()
        for name in "abc":
            queue.add(name)
        job = queue.take()
        queue.retry(job)
        self.assertEqual(job.attempts, 1)
        self.assertEqual(self.names(queue), ["b", "c", "a"])

    def test_cancel(self):
        queue = Queue()
        for name in "aab":
            queue.add(name)
        self.assertTrue(queue.cancel(2))
        self.assertFalse(queue.cancel(2))
        self.assertEqual([job.id for job in queue.jobs()], [1, 3])


class WorkerTest(Case):
    def test_run(self):
        queue, done = Queue(), []

        def flaky(payload):
            done.append(payload)
            if len(done) < 3:
                raise OSError("not yet")

        queue.add("flaky", "x")
        self.assertEqual(run(queue, {"flaky": flaky}), [])
        self.assertEqual(done, ["x"] * 3)

    def test_failures(self):
        queue = Queue()
        queue.add("unknown")
        queue.add("broken")
        failed = run(queue, {"broken": lambda payload: 1 / 0}, max_attempts=2)
        self.assertEqual([(job.name, job.attempts) for job in failed], [("unknown", 0), ("broken", 1)])


class StoreTest(Case):
    def test_no_file(self):
        self.assertEqual(len(load(self.path)), 0)

    def test_bad_json(self):
        self.path.write_text("{", encoding="utf-8")
        with self.assertRaises(StoreError):
            load(self.path)

    def test_format(self):
        queue = Queue()
        queue.add("mail", {"to": "ann"})
        queue.add("mail", None, 3)
        save(queue, self.path)
        data = self.read()
        self.assertEqual(list(data), ["version", "next_id", "jobs"])
        self.assertEqual((data["version"], data["next_id"]), (2, 3))
        self.assertEqual(
            [list(job.items()) for job in data["jobs"]],
            [
                [("id", 2), ("name", "mail"), ("payload", None), ("priority", 3), ("attempts", 0)],
                [("id", 1), ("name", "mail"), ("payload", {"to": "ann"}), ("priority", 0), ("attempts", 0)],
            ],
        )

    def test_order_survives(self):
        queue = Queue()
        for name, priority in (("a", 1), ("b", 1), ("c", 2), ("d", 1)):
            queue.add(name, None, priority)
        queue.take()
        queue.retry(queue.take())
        save(queue, self.path)
        self.assertEqual(self.names(load(self.path)), ["b", "d", "a"])

    def test_old_format(self):
        self.write({"next_id": 9, "jobs": [[3, 1, "mail", {"to": "ann"}, 2], [1, 0, "tidy", None, 0]]})
        queue = load(self.path)
        self.assertEqual(queue.jobs(), [jobs.Job(3, "mail", {"to": "ann"}, 1, 2), jobs.Job(1, "tidy", None)])
        self.assertEqual(queue.next_id, 9)

    def test_missing_fields(self):
        self.write({"version": 2, "next_id": 2, "jobs": [{"id": 1, "name": "a", "payload": []}]})
        self.assertEqual(load(self.path).take(), jobs.Job(1, "a", []))

    def test_unknown_fields_survive(self):
        job = {"tags": ["x"], "id": 1, "owner": "ann", "name": "a", "payload": 0, "attempts": 1}
        self.write({"version": 2, "next_id": 2, "jobs": [job]})
        queue = load(self.path)
        self.assertEqual(queue.jobs()[0].extra, {"tags": ["x"], "owner": "ann"})
        queue.retry(queue.take())
        save(queue, self.path)
        saved = self.read()["jobs"][0]
        self.assertEqual(list(saved), ["id", "name", "payload", "priority", "attempts", "tags", "owner"])
        self.assertEqual(saved, {**job, "priority": 0, "attempts": 2})

    def test_next_id(self):
        job = {"id": 7, "name": "a", "payload": None}
        for data, expected in (({"jobs": [job]}, 8), ({"next_id": 3, "jobs": [job]}, 8), ({"jobs": []}, 1)):
            self.write({"version": 2, **data})
            self.assertEqual(load(self.path).next_id, expected)
        self.write({"next_id": 2, "jobs": [[5, 0, "a", None, 0]]})
        self.assertEqual(load(self.path).next_id, 6)

    def test_errors(self):
        good = {"id": 1, "name": "a", "payload": None}
        for data, message in (
            ({"version": 3, "jobs": []}, "version 3 is not supported"),
            ({"version": 2, "jobs": [good, {"id": 2, "payload": 1}]}, "job 2: no 'name'"),
            ({"version": 2, "jobs": [{"name": "a"}]}, "job 1: no 'id'"),
            ({"version": 2, "jobs": [{"id": 1, "name": "a"}]}, "job 1: no 'payload'"),
            ({"jobs": [[1, 0, "a", None, 0], [2, 0, "b", None]]}, "job 2: 4 parts instead of 5"),
        ):
            self.write(data)
            with self.assertRaises(StoreError) as caught:
                load(self.path)
            self.assertEqual(str(caught.exception), f"{self.path}: {message}")


class CommandLineTest(Case):
    def test_session(self):
        self.assertEqual(self.cli("add", "mail", '{"to": "ann"}'), (0, '#1 mail {"to": "ann"}\n', ""))
        self.assertEqual(self.cli("add", "tidy", "null", "5"), (0, "#2 tidy null priority 5\n", ""))
        self.assertEqual(self.cli("list"), (0, '#2 tidy null priority 5\n#1 mail {"to": "ann"}\n', ""))
        self.assertEqual(self.cli("cancel", "2"), (0, "", ""))
        self.assertEqual(self.cli("cancel", "2"), (1, "", "no job 2\n"))
        self.assertEqual(self.cli("add", "next"), (0, "#3 next null\n", ""))

    def test_attempts_are_shown(self):
        self.write({"next_id": 2, "jobs": [[1, 0, "mail", None, 2]]})
        self.assertEqual(self.cli("list"), (0, "#1 mail null attempts 2\n", ""))

    def test_usage(self):
        self.assertEqual(self.cli("list", "all")[0], 2)
        self.assertEqual(self.cli("cancel", "x")[0], 2)


if __name__ == "__main__":
    unittest.main()
