"""The example that the program carries: it runs, and it wrote the recording that the lesson shows."""

import os
import tempfile
import unittest

import reading
from reading import np, torch

SHIPPED = os.path.join(reading.SOURCE, "..", "recordings", "my-attention")


@unittest.skipIf(torch is None, "PyTorch is not installed")
class ExampleTest(unittest.TestCase):
    def test_it_writes_what_the_lesson_shows(self):
        import my_attention
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.attn")
            my_attention.main(path)
            made = reading.Recording(path)
        shipped = reading.Recording(SHIPPED)
        self.assertEqual(made.json["graphs"], shipped.json["graphs"], "write the shipped recording again")
        self.assertEqual(made.json["files"], shipped.json["files"])
        self.assertEqual(made.json["tokens"], shipped.json["tokens"])
        self.assertEqual(sorted(made.steps), sorted(shipped.steps))
        for step, arrays in shipped.steps.items():
            self.assertEqual(sorted(made.steps[step]), sorted(arrays))
            for name, array in arrays.items():
                np.testing.assert_allclose(made.steps[step][name], array, rtol=1e-4, atol=1e-5, err_msg=name)

    def test_it_names_lines_that_are_there(self):
        with open(os.path.join(reading.SOURCE, "my_attention.py"), encoding="utf-8") as file:
            lines = file.read().split("\n")
        scores = reading.Recording(SHIPPED).graph(0)["attentions"][0]["stages"][3]
        self.assertEqual(scores["name"], "scores")
        self.assertIn("q @ k", lines[int(scores["line"].split(":")[1]) - 1])


if __name__ == "__main__":
    unittest.main()
