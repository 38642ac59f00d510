# SPDX-License-Identifier: Apache-2.0
"""What inspect tells of a file, as text, as JSON and as a page."""
import json
import re

from support import DEMO, CliTest, constant, kinglet, main, model, node, reducible, value_info


class Inspect(CliTest):
    def test_the_demonstration(self):
        answer = self.assert_done(kinglet("inspect", DEMO, "--json")).json()
        self.assertEqual(answer["inputs"][0]["shape"], [1, 3, 96, 96])
        self.assertEqual(answer["outputs"][0]["shape"], [1, 9])
        text = self.assert_done(kinglet("inspect", DEMO)).text()
        self.assertIn("kinglet-demo.recipe.json", text)
        self.assertRegex(text, r"\nfallback +none\n")
        self.assertRegex(text, r"\ndescription Demonstration only")
        self.assertEqual(answer["properties"]["licence"], "Apache-2.0")


    def test_the_memory_the_work_and_the_places_are_said(self):
        answer = self.assert_done(kinglet("inspect", DEMO, "--json", "--shapes")).json()
        plan = answer["plan"]
        self.assertTrue(plan["possible"])
        self.assertEqual(sum(step["nodes"] for step in plan["steps"]), len(plan["nodes"]))
        self.assertEqual(sum(step["macs"] for step in plan["steps"]), plan["macs"])
        self.assertGreater(plan["arena_bytes"], 3 * 96 * 96 * 4)
        self.assertEqual(sum(answer["operators"].values()), plan["nodes_in_file"])

    def test_a_kernel_of_its_own_says_what_it_costs_and_ends_with(self):
        nodes = [node("Conv", ["image", "w"], ["a"], "one"), node("Conv", ["image", "w"], ["b"], "other"),
                 node("Mul", ["b", "half"], ["c"], "halved"), node("Add", ["a", "c"], ["d"], "sum"),
                 node("Relu", ["d"], ["e"], "relu"), node("GlobalAveragePool", ["e"], ["y"], "mean")]
        path = self.file("block.onnx", model(nodes, [value_info("image", [1, 64, 34, 34])],
                                             [value_info("y", [1, 64, 1, 1])],
                                             [constant("w", [64, 64, 3, 3]), constant("half", [], 0.5)]))
        plan = self.assert_done(kinglet("inspect", path, "--json", "--shapes")).json()["plan"]
        steps = [step for step in plan["steps"] if step["kernel"]]
        self.assertTrue(steps, "a processor without a form of the kernel?")
        ended = next(step for step in steps if step["nodes"] == 2)
        self.assertEqual((ended["first"], ended["last"]), ("one", "sum"))
        self.assertRegex(ended["kernel"]["name"], "^winograd4_f32__")
        self.assertLess(ended["kernel"]["cost"], 1)
        self.assertGreaterEqual(ended["kernel"]["packed_bytes"], 36 * 64 * 64 * 4)
        self.assertRegex(self.assert_done(kinglet("inspect", path)).text(), r"winograd4_f32__\w+ +0\.\d\d +0\.6 MB +2 ")

    def test_a_model_without_a_plan_is_still_shown(self):
        free = self.file("free.onnx", model([node("Relu", ["x"], ["y"], "n")], [value_info("x", [0, 3, 0, 0])],
                                            [value_info("y", [0, 3, 0, 0])]))
        text = self.assert_done(kinglet("inspect", free, "--shapes")).text()
        self.assertRegex(text, r"\nplan +none: .*free")
        self.assertIn("[?,3,?,?]", text)
        self.assertFalse(self.assert_done(kinglet("inspect", free, "--json")).json()["plan"]["possible"])

    def test_the_difference_of_two_files(self):
        before, after = self.file("a.onnx", reducible()), self.folder / "b.onnx"
        self.assert_done(kinglet("optimize", before, "-o", after))
        answer = self.assert_done(kinglet("inspect", "--diff", before, after, "--json")).json()
        self.assertIn({"name": "same", "operator": "Identity"}, answer["nodes"]["gone"])
        self.assertEqual(answer["before"]["nodes"], 3)
        self.assertEqual(answer["after"]["nodes"], 1)
        self.assertIn("REMOVED NODE", self.assert_done(kinglet("inspect", "--diff", before, after)).text())
        self.assertTrue(self.assert_done(kinglet("inspect", "--diff", before, before, "--json")).json()["same"])
        self.assert_refused(kinglet("inspect", "--diff", before), 64, "two files")

    def test_one_tensor(self):
        path = self.file("a.onnx", reducible())
        answer = self.assert_done(kinglet("inspect", path, "--tensor", "b", "--json", "--values", 2)).json()
        self.assertEqual(answer["shape"], [4])
        self.assertEqual(answer["values"], [0.5, 0.5])
        self.assertEqual(answer["statistics"]["mean"], 0.5)
        self.assertEqual(answer["readers"], ["norm (BatchNormalization)"])
        self.assertIn("made by conv", self.assert_done(kinglet("inspect", path, "--tensor", "a")).text())
        self.assert_refused(kinglet("inspect", path, "--tensor", "imag"), 65, "imag", hint="image")

    def test_a_page_of_the_graph_needs_nothing_else_and_trusts_no_name(self):
        evil = '</script><b onclick=alert(1)>"&'
        path = self.file("a.onnx", model([node("Relu", ["x"], ["y"], evil)], [value_info("x", [1, 4])],
                                         [value_info("y", [1, 4])]))
        page = self.folder / "page.html"
        self.assert_done(kinglet("inspect", path, "--html", page))
        text = page.read_text()
        self.assertNotIn("<b ", text)
        self.assertEqual(text.count("</script>"), 2)
        self.assertNotRegex(text, r"(src|href)=|https?://|@import|url\(")
        self.assertEqual(text.count('<g class="fast"'), 1)
        details = json.loads(re.search(r'id="details">(.*?)</script>', text)[1])
        self.assertEqual([row["operator"] for row in details], ["input", "Relu", "output"])
        self.assertEqual(details[1]["name"], evil)
        self.assert_refused(kinglet("inspect", path, "--html", page), 73, page, hint="--force")
        self.assert_done(kinglet("inspect", path, "--html", page, "--force"))
        self.assertEqual(page.read_text(), text)

    def test_a_page_of_many_nodes_takes_no_longer_than_they_need(self):
        def chain(count):
            nodes = [node("Relu" if i % 2 else "Neg", [f"v{i}"], [f"v{i + 1}"], f"n{i}") for i in range(count)]
            return model(nodes, [value_info("v0", [1, 4])], [value_info(f"v{count}", [1, 4])])
        page = self.folder / "page.html"
        self.assert_done(kinglet("inspect", self.file("long.onnx", chain(6000)), "--html", page))
        self.assertGreater(page.stat().st_size, 6000 * 200)


if __name__ == "__main__":
    main()
