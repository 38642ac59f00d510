# SPDX-License-Identifier: Apache-2.0
"""`kinglet convert`: what it writes means the same, to ONNX's checker and to ONNX Runtime, and nothing is lost."""
import json

from oracle import (NEWEST, TensorProto, check_file, check_same, classifier, floats, helper, np, numpy_helper, onnx,
                    random_inputs, run, save, tensor)
from support import CORPUS, DEMO, DEMO_LABELS, DEMO_RECIPE, HAVE_CORPUS, CliTest, kinglet, main, png


def opset_of(path):
    return next(row.version for row in onnx.load(str(path), load_external_data=False).opset_import if row.domain == "")


# Operators whose form depends on the opset, or that are not in all of them.
def newer_forms(path):
    axes = numpy_helper.from_array(np.array([2, 3], np.int64), "axes")
    last = numpy_helper.from_array(np.array([-1], np.int64), "last")
    low = numpy_helper.from_array(np.float32(-1), "low")
    pads = numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "pads")
    starts, ends, one = (numpy_helper.from_array(np.array([n], np.int64), name)
                         for n, name in ((1, "starts"), (3, "ends"), (-1, "slice_axes")))
    parts = numpy_helper.from_array(np.array([1, 2], np.int64), "parts")
    nodes = [helper.make_node("Pad", ["x", "pads"], ["padded"], "pad"),
             helper.make_node("Clip", ["padded", "low"], ["clipped"], "clip"),
             helper.make_node("Slice", ["clipped", "starts", "ends", "slice_axes"], ["sliced"], "slice"),
             helper.make_node("Split", ["sliced", "parts"], ["first", "second"], "split", axis=1),
             helper.make_node("ReduceMean", ["second", "axes"], ["mean"], "mean", keepdims=0),
             helper.make_node("HardSwish", ["mean"], ["swished"], "swish"),
             helper.make_node("LayerNormalization", ["swished", "gain", "shift"], ["normal"], "norm"),
             helper.make_node("Gelu", ["normal"], ["gelu"], "gelu"),
             helper.make_node("Mish", ["gelu"], ["mish"], "mish"),
             helper.make_node("Unsqueeze", ["mish", "last"], ["wide"], "unsqueeze"),
             helper.make_node("Squeeze", ["wide", "last"], ["narrow"], "squeeze"),
             helper.make_node("Softmax", ["narrow"], ["y"], "softmax"),
             helper.make_node("ReduceSum", ["first", "axes"], ["z"], "sum")]
    weights = [axes, last, low, pads, starts, ends, one, parts, floats("gain", [2], 1), floats("shift", [2], 2)]
    return save(path, nodes, [tensor("x", [1, 3, 4, 4])], [tensor("y", [1, 2]), tensor("z", [1, 1, 1, 1])], weights, 20)


class Opsets(CliTest):
    def check(self, source, opset, older=True):
        out = self.folder / f"opset{opset}.onnx"
        answer = self.assert_done(kinglet("convert", source, "-o", out, "--opset", opset, "--json")).json()
        self.assertEqual(answer["opset"]["to"], opset)
        self.assertEqual(opset_of(out), opset)
        check_file(out)
        inputs = random_inputs(source)
        check_same(self, run(source, inputs), run(out, inputs))
        return out

    def test_every_opset_from_9_to_21_gives_the_same_answers(self):
        source = newer_forms(self.folder / "new.onnx")
        for opset in range(9, NEWEST + 1):
            with self.subTest(opset=opset):
                self.check(source, opset)

    def test_up_and_down_again(self):
        source = classifier(self.folder / "a.onnx", opset=11)
        up = self.check(source, 21)
        down = self.folder / "down.onnx"
        self.assert_done(kinglet("convert", up, "-o", down, "--opset", 11))
        inputs = random_inputs(source)
        check_same(self, run(source, inputs), run(down, inputs), 1e-6)

    def test_the_same_opset_changes_nothing(self):
        source = classifier(self.folder / "a.onnx")
        out = self.folder / "b.onnx"
        self.assert_done(kinglet("convert", source, "-o", out, "--opset", 17))
        self.assertEqual(onnx.load(str(source)), onnx.load(str(out)))

    def test_what_an_old_opset_does_not_have_is_named(self):
        nodes = [helper.make_node("Softmax", ["x"], ["y"], "along_channels", axis=1)]
        source = save(self.folder / "a.onnx", nodes, [tensor("x", [1, 3, 4, 4])], [tensor("y", [1, 3, 4, 4])])
        out = self.folder / "b.onnx"
        self.assert_refused(kinglet("convert", source, "-o", out, "--opset", 11), 65, "along_channels", "axis 1")
        self.assertFalse(out.exists())

    def test_operators_that_came_later_are_named(self):
        nodes = [helper.make_node("Round", ["x"], ["y"], "rounds")]
        source = save(self.folder / "a.onnx", nodes, [tensor("x", [1, 3])], [tensor("y", [1, 3])])
        self.assert_refused(kinglet("convert", source, "-o", self.folder / "b.onnx", "--opset", 9), 65, "rounds", "opset 11")

    def test_scales_by_channel_came_with_opset_13(self):
        weights = [numpy_helper.from_array(np.int8([[1, 2], [3, 4]]), "q"), numpy_helper.from_array(np.float32([0.5, 2]), "s"),
                   numpy_helper.from_array(np.int8([0, 0]), "z")]
        nodes = [helper.make_node("DequantizeLinear", ["q", "s", "z"], ["w"], "by_channel", axis=1),
                 helper.make_node("MatMul", ["x", "w"], ["y"], "product")]
        source = save(self.folder / "a.onnx", nodes, [tensor("x", [1, 2])], [tensor("y", [1, 2])], weights)
        self.check(source, 13)
        self.assert_refused(kinglet("convert", source, "-o", self.folder / "b.onnx", "--opset", 11), 65, "by_channel", "opset 13")

    def test_opsets_that_are_not_written(self):
        source = classifier(self.folder / "a.onnx")
        for opset in (1, 8, 23):
            self.assert_refused(kinglet("convert", source, "-o", self.folder / "b.onnx", "--opset", opset), 64, opset)

    def test_metadata_stays(self):
        out = self.folder / "b.onnx"
        self.assert_done(kinglet("convert", DEMO, "-o", out, "--opset", 11))
        before, after = onnx.load(str(DEMO)), onnx.load(str(out))
        self.assertEqual(list(before.metadata_props), list(after.metadata_props))
        self.assertEqual(before.producer_name, after.producer_name)
        self.assertEqual(before.graph.name, after.graph.name)

    def test_doc_strings_of_nodes_stay(self):
        source = classifier(self.folder / "a.onnx")
        out = self.folder / "b.onnx"
        self.assert_done(kinglet("convert", source, "-o", out, "--opset", 11))
        told = {node.name: node.doc_string for node in onnx.load(str(out)).graph.node if node.doc_string}
        self.assertEqual({"conv1": "trace"}, told)


# A model with every kind of field: what JSON must not lose.
def everything(path):
    source = classifier(path)
    model = onnx.load(str(source))
    graph = model.graph
    model.doc_string = "tabs\tand \u00fcmlauts and \"quotes\""
    model.domain, model.model_version, model.producer_version = "test", -3, "1"
    helper.set_model_props(model, {"a": "1", "b": ""})
    graph.node.append(helper.make_node("Constant", [], ["odd"], "odd", value=helper.make_tensor(
        "numbers", TensorProto.FLOAT, [5], [float("nan"), float("inf"), -0.0, 1e-45, 0.1])))
    graph.node.append(helper.make_node("Thing", ["odd"], ["other"], "thing", domain="my.own", f=0.1, fs=[1.5, float("-inf")],
                                       i=-2**63, ints=[1, -1], s="text", ss=["a", "b"]))
    raw = graph.node[-1].attribute.add()
    raw.name, raw.type, raw.s = "bytes", onnx.AttributeProto.STRING, b"\xff\x00\x80"
    inner = helper.make_graph([helper.make_node("Relu", ["c1"], ["inner"])], "inner", [], [tensor("inner", [1])],
                              [floats("inner_weight", [3, 30], 5)])
    graph.node.append(helper.make_node("Loopish", ["odd"], ["looped"], "sub", domain="my.own", body=inner))
    model.opset_import.append(helper.make_opsetid("my.own", 1))
    for name, values in (("i8", np.arange(-128, 128, dtype=np.int8)), ("u64", np.array([2**64 - 1], np.uint64)),
                         ("f16", np.array([0.1, np.nan], np.float16)), ("f64", np.array([0.1, -np.inf])),
                         ("flags", np.array([True, False]))):
        graph.initializer.append(numpy_helper.from_array(values, name))
    graph.initializer.append(helper.make_tensor("typed", TensorProto.INT32, [2], [3, -4]))
    graph.initializer.append(helper.make_tensor("words", TensorProto.STRING, [2], [b"x", b"\xfe"]))
    onnx.save(model, str(source))
    return source


class AsJson(CliTest):
    def there_and_back(self, source, *how, back=()):
        middle, out = self.folder / "m.json", self.folder / "back.onnx"
        self.assert_done(kinglet("convert", source, "-o", middle, *how))
        self.assert_done(kinglet("convert", middle, "-o", out, *back))
        self.assertEqual(onnx.load(str(source)).SerializeToString(deterministic=True),
                         onnx.load(str(out)).SerializeToString(deterministic=True))
        return middle

    def test_nothing_is_lost_with_the_weights_inside(self):
        self.there_and_back(everything(self.folder / "a.onnx"), "--weights", "inline")

    def test_nothing_is_lost_with_the_weights_of_the_original(self):
        source = everything(self.folder / "a.onnx")
        middle = self.there_and_back(source, back=("--weights-from", source))
        self.assertIn("sha256", middle.read_text())

    def test_the_demonstration(self):
        self.there_and_back(DEMO, "--weights", "inline")
        if HAVE_CORPUS:
            for path in sorted((CORPUS / "models").glob("*.onnx")):
                with self.subTest(model=path.name):
                    (self.folder / "m.json").unlink()
                    (self.folder / "back.onnx").unlink()
                    self.there_and_back(path, back=("--weights-from", path))

    def test_it_reads_like_the_model(self):
        source = classifier(self.folder / "a.onnx")
        text = self.assert_done(kinglet("convert", source, "-o", "-", "--to", "json")).text()
        graph = json.loads(text)["model"]["graph"]
        conv = graph["node"][0]
        self.assertEqual((conv["name"], conv["op_type"]), ("conv1", "Conv"))
        self.assertIn({"name": "pads", "ints": [1, 1, 1, 1], "type": "INTS"},
                      [dict(sorted(a.items(), key=lambda kv: ["name", "ints", "type"].index(kv[0]))) for a in conv["attribute"]])
        bias = next(t for t in graph["initializer"] if t["name"] == "b1")
        np.testing.assert_array_equal(np.float32(bias["values"]), numpy_helper.to_array(
            next(t for t in onnx.load(str(source)).graph.initializer if t.name == "b1")))

    def test_a_change_by_hand_comes_back(self):
        source = classifier(self.folder / "a.onnx")
        middle, out = self.folder / "m.json", self.folder / "b.onnx"
        self.assert_done(kinglet("convert", source, "-o", middle))
        root = json.loads(middle.read_text())
        next(t for t in root["model"]["graph"]["initializer"] if t["name"] == "b2")["values"] = [9, 0, 0, 0, 0]
        middle.write_text(json.dumps(root))
        self.assert_done(kinglet("convert", middle, "-o", out, "--weights-from", source))
        scores = run(out, random_inputs(source))["scores"]
        self.assertEqual(int(scores[0].argmax()), 0)

    def test_weights_that_are_not_there_are_named(self):
        source = classifier(self.folder / "a.onnx")
        middle, out = self.folder / "m.json", self.folder / "b.onnx"
        self.assert_done(kinglet("convert", source, "-o", middle))
        self.assert_refused(kinglet("convert", middle, "-o", out), 65, "initializer[0]", hint="--weights-from")
        other = save(self.folder / "other.onnx", [helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [1])],
                     [tensor("y", [1])])
        self.assert_refused(kinglet("convert", middle, "-o", out, "--weights-from", other), 65, "initializer[0]")
        self.assertFalse(out.exists())

    def test_wrong_json_is_told_with_its_place(self):
        source = classifier(self.folder / "a.onnx")
        text = self.assert_done(kinglet("convert", source, "-o", "-", "--to", "json", "--weights", "inline")).text()
        for change, words in (((('"op_type": "Relu"', '"op_typ": "Relu"')), ("model.graph.node[1]", "op_typ")),
                              (('"type": "INTS"', '"type": "INTZ"'), ("attribute", "type", "INTZ")),
                              (('"ir_version": 8', '"ir_version": "8"'), ("model.ir_version", "whole number")),
                              (('"format": "kinglet-onnx-json-1"', '"format": "x"'), ("format",)),
                              (('"op_type": "Relu"', '"op_type": Relu'), ("line",))):
            with self.subTest(change=change):
                self.assertIn(change[0], text)
                bad = self.file("bad.json", text.replace(*change, 1))
                self.assert_refused(kinglet("convert", bad, "-o", self.folder / "b.onnx"), 65, bad, *words)

    def test_a_graph_broken_by_hand_is_refused_by_its_node(self):
        source = classifier(self.folder / "a.onnx")
        text = self.assert_done(kinglet("convert", source, "-o", "-", "--to", "json", "--weights", "inline")).text()
        bad = self.file("bad.json", text.replace('"c1"', '"c0"', 1))
        self.assert_refused(kinglet("convert", bad, "-o", self.folder / "b.onnx"), 65, "relu1", "c1")


class ExternalData(CliTest):
    def test_out_and_in_again(self):
        source = classifier(self.folder / "a.onnx")
        big, back = self.folder / "big.onnx", self.folder / "back.onnx"
        model = onnx.load(str(source))
        model.graph.initializer.append(floats("unused", [40, 40], 9))
        onnx.save(model, str(source))
        self.assert_done(kinglet("convert", source, "-o", big, "--external-data"))
        self.assertTrue((self.folder / "big.onnx.data").exists())
        self.assertLess(big.stat().st_size, source.stat().st_size)
        self.assertEqual([t.name for t in onnx.load(str(big), load_external_data=False).graph.initializer
                          if t.data_location == TensorProto.EXTERNAL], ["unused"])
        inputs = random_inputs(source)
        check_same(self, run(source, inputs), run(big, inputs), 0)
        self.assert_done(kinglet("convert", big, "-o", back, "--internal-data"))
        self.assertEqual(onnx.load(str(source)), onnx.load(str(back)))

    def test_external_weights_stay_so_in_another_folder(self):
        source = classifier(self.folder / "a.onnx")
        model = onnx.load(str(source))
        model.graph.initializer.append(floats("unused", [40, 40], 9))
        onnx.save(model, str(source), save_as_external_data=True, location="w.bin", size_threshold=1024)
        other = self.folder / "other"
        other.mkdir()
        self.assert_done(kinglet("convert", source, "-o", other / "b.onnx"))
        self.assertEqual(sorted(p.name for p in other.iterdir()), ["b.onnx", "b.onnx.data"])
        self.assertEqual(onnx.load(str(source)), onnx.load(str(other / "b.onnx")))

    def test_a_missing_data_file_is_named(self):
        source = classifier(self.folder / "a.onnx")
        model = onnx.load(str(source))
        model.graph.initializer.append(floats("unused", [40, 40], 9))
        onnx.save(model, str(source), save_as_external_data=True, location="w.bin", size_threshold=1024)
        (self.folder / "w.bin").unlink()
        self.assert_refused(kinglet("convert", source, "-o", self.folder / "b.onnx"), 66, "w.bin")


class LabelsAndRecipe(CliTest):
    def test_the_loader_finds_them_in_the_file(self):
        out = self.folder / "bird.onnx"
        self.assert_done(kinglet("convert", DEMO, "-o", out, "--labels", DEMO_LABELS, "--recipe", DEMO_RECIPE))
        self.assert_folder_holds("bird.onnx")
        picture = self.file("p.png", png(64, 64))
        alone = self.assert_done(kinglet("classify", out, picture, "--json"))
        self.assertEqual(alone.err, "")
        beside = self.assert_done(kinglet("classify", DEMO, picture, "--json")).json()
        self.assertEqual(alone.json()["pictures"][0]["top"], beside["pictures"][0]["top"])
        facts = self.assert_done(kinglet("inspect", out, "--json")).json()
        self.assertEqual(facts["labels"], {"path": "in the model", "count": 9})
        self.assertEqual(facts["preprocess_from"], "in the model")

    def test_labels_that_do_not_fit_are_refused(self):
        labels = self.file("l.txt", "one\ntwo\n")
        out = self.folder / "b.onnx"
        self.assert_refused(kinglet("convert", DEMO, "-o", out, "--labels", labels), 65, "2 labels", "9 classes")
        recipe = self.file("r.json", '{"std": 0}')
        self.assert_refused(kinglet("convert", DEMO, "-o", out, "--recipe", recipe), 65, "std")
        self.assertFalse(out.exists())


class Files(CliTest):
    def test_the_same_bytes_twice(self):
        source = classifier(self.folder / "a.onnx")
        for how in (["--opset", "11"], ["--to", "json"], [], ["--labels", self.file("l.txt", "a\nb\nc\nd\ne\n")]):
            first = self.assert_done(kinglet("convert", source, "-o", "-", *how)).out
            self.assertEqual(first, self.assert_done(kinglet("convert", source, "-o", "-", *how)).out)
            self.assertGreater(len(first), 100)

    def test_twice_is_once(self):
        source = everything(self.folder / "a.onnx")
        one, two = self.folder / "1.onnx", self.folder / "2.onnx"
        self.assert_done(kinglet("convert", source, "-o", one))
        self.assert_done(kinglet("convert", one, "-o", two))
        self.assertEqual(one.read_bytes(), two.read_bytes())

    def test_files_that_are_there_stay_without_force(self):
        source = classifier(self.folder / "a.onnx")
        there = self.file("b.onnx", b"mine")
        self.assert_refused(kinglet("convert", source, "-o", there), 73, there, hint="--force")
        self.assertEqual(there.read_bytes(), b"mine")
        self.assert_done(kinglet("convert", source, "-o", there, "--force"))
        self.assert_refused(kinglet("convert", source, "-o", source, "--force"), 64, "same file")
        self.assert_refused(kinglet("convert", source), 64, "-o OUT")

    def test_a_full_disk_leaves_nothing(self):
        source = classifier(self.folder / "a.onnx")
        self.assert_refused(kinglet("convert", source, "-o", self.folder / "b.onnx", largest_file=500), 74, "b.onnx")
        self.assert_folder_holds("a.onnx")

    def test_what_is_no_model(self):
        for content in (b"", b"hello", b"{", b"\x08\x08"):
            bad = self.file("bad.onnx", content)
            self.assert_refused(kinglet("convert", bad, "-o", self.folder / "b.onnx"), 65, "bad.onnx")
        self.assert_refused(kinglet("convert", "none.onnx", "-o", self.folder / "b.onnx"), 66, "none.onnx")

    def test_a_model_kinglet_cannot_run_is_converted_and_that_is_said(self):
        nodes = [helper.make_node("NonZero", ["x"], ["y"], "odd")]
        source = save(self.folder / "a.onnx", nodes, [tensor("x", [3])], [tensor("y", [1, None], TensorProto.INT64)])
        ended = self.assert_done(kinglet("convert", source, "-o", self.folder / "b.onnx"))
        self.assertIn("could not be checked", ended.err)
        self.assertIn("NonZero", ended.err)


if __name__ == "__main__":
    main()
