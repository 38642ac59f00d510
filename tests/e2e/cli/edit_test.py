# SPDX-License-Identifier: Apache-2.0
"""`kinglet edit`: each verb, judged by ONNX Runtime, and what each verb refuses."""
import re

from oracle import (TensorProto, check_file, check_same, classifier, floats, helper, np, numpy_helper, onnx, random_inputs,
                    run, save, tensor)
from support import SOURCE_DIR, CliTest, kinglet, main

VERBS = [name.replace("_", "-") for name in re.findall(
    r"^KINGLET_VERB\((\w+),", (SOURCE_DIR / "engine" / "edit" / "verbs.def").read_text(), re.M)]


class EditTest(CliTest):
    def setUp(self):
        super().setUp()
        self.source = classifier(self.folder / "in.onnx")
        self.out = self.folder / "out.onnx"

    def edit(self, *words, source=None, options=()):
        self.out.unlink(missing_ok=True)
        ended = self.assert_done(kinglet("edit", source or self.source, "-o", self.out, *options, *words))
        check_file(self.out)
        return ended

    def refused(self, code, words, *said, source=None, hint=None):
        self.out.unlink(missing_ok=True)
        self.assert_refused(kinglet("edit", source or self.source, "-o", self.out, *words), code, *said, hint=hint)
        self.assertFalse(self.out.exists())

    def npy(self, name, values):
        np.save(self.folder / name, values)
        return self.folder / name

    def graph(self):
        return onnx.load(str(self.out)).graph

    def same_numbers(self, tolerance=0):
        inputs = random_inputs(self.source)
        check_same(self, run(self.source, inputs), run(self.out, inputs), tolerance)


class Rename(EditTest):
    def test_names_of_tensors_nodes_and_borders(self):
        self.edit("rename", "image=picture", "scores=p", "conv1=stem", "b*=bias_*")
        graph = self.graph()
        self.assertEqual([graph.input[0].name, graph.output[0].name, graph.node[0].name], ["picture", "p", "stem"])
        self.assertIn("bias_1", graph.node[0].input)
        inputs = random_inputs(self.source)
        np.testing.assert_array_equal(run(self.source, inputs)["scores"],
                                      run(self.out, {"picture": inputs["image"]})["p"])

    def test_wrong_wishes(self):
        self.refused(64, ["rename", "imag=x"], "imag", hint="image")
        self.refused(64, ["rename", "image=w1"], "w1")
        self.refused(64, ["rename", "conv1=relu1"], "relu1")
        self.refused(64, ["rename", "a*=b"], "star")
        self.refused(64, ["rename", "image"], "OLD=NEW")
        self.refused(64, ["rename"], "OLD=NEW")


class Outputs(EditTest):
    def test_an_inner_tensor_is_given_out(self):
        self.edit("outputs", "--add", "features")
        answers = run(self.out, random_inputs(self.source))
        self.assertEqual(answers["features"].shape, (1, 8, 1, 1))
        self.assertEqual(answers["scores"].shape, (1, 5))

    def test_what_only_a_removed_output_needed_goes(self):
        self.edit("outputs", "--add", "features", "--remove", "scores")
        self.assertEqual([n.op_type for n in self.graph().node], ["Conv", "Relu", "GlobalAveragePool"])
        self.assertEqual([t.name for t in self.graph().initializer], ["w1", "b1"])

    def test_wrong_wishes(self):
        self.refused(64, ["outputs", "--add", "feature"], "feature", hint="features")
        self.refused(64, ["outputs", "--add", "scores"], "already")
        self.refused(64, ["outputs", "--remove", "scores"], "no output")
        self.refused(64, ["outputs", "--remove", "logits"], "logits", hint="scores")
        self.refused(64, ["outputs"], "nothing")


class Input(EditTest):
    def test_batch(self):
        self.edit("input", "--batch", "3")
        batch = np.random.default_rng(1).standard_normal([3, 3, 8, 8]).astype(np.float32)
        got = run(self.out, {"image": batch})["scores"]
        for i in range(3):
            np.testing.assert_allclose(got[i:i + 1], run(self.source, {"image": batch[i:i + 1]})["scores"], atol=1e-6)
        self.assertEqual(self.graph().output[0].type.tensor_type.shape.dim[0].dim_value, 3)

    def test_a_free_batch_has_a_name(self):
        self.edit("input", "--batch", "N")
        graph = self.graph()
        self.assertEqual(graph.input[0].type.tensor_type.shape.dim[0].dim_param, "N")
        self.assertEqual(graph.output[0].type.tensor_type.shape.dim[0].dim_param, "N")
        for count in (1, 4):
            self.assertEqual(run(self.out, {"image": np.zeros([count, 3, 8, 8], np.float32)})["scores"].shape, (count, 5))

    def test_shape(self):
        self.edit("input", "--shape", "2,3,16,12")
        self.assertEqual(run(self.out, {"image": np.zeros([2, 3, 16, 12], np.float32)})["scores"].shape, (2, 5))

    def test_layout(self):
        self.edit("input", "--layout", "nhwc")
        x = random_inputs(self.source)["image"]
        check_same(self, run(self.source, {"image": x}), run(self.out, {"image": x.transpose(0, 2, 3, 1)}), 1e-6)
        one = self.folder / "nhwc.onnx"
        self.out.rename(one)
        self.edit("input", "--layout", "nchw", source=one)
        self.same_numbers(1e-6)

    def test_swapped_colours_are_folded_into_the_convolution(self):
        self.edit("input", "--swap-rb")
        self.assertEqual(len(self.graph().node), 7)
        x = random_inputs(self.source)["image"]
        check_same(self, run(self.source, {"image": x}), run(self.out, {"image": x[:, ::-1]}), 1e-6)

    def test_swapped_colours_elsewhere_and_with_a_layout(self):
        source = save(self.folder / "relu.onnx", [helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [1, 3, 4, 4])],
                      [tensor("y", [1, 3, 4, 4])])
        x = random_inputs(source)["x"]
        self.edit("input", "--swap-rb", "--layout", "nhwc", source=source)
        got = run(self.out, {"x": x[:, ::-1].transpose(0, 2, 3, 1)})
        check_same(self, run(source, {"x": x}), got, 0)

    def test_wrong_wishes(self):
        self.refused(64, ["input", "--batch", "0"], "0")
        self.refused(64, ["input", "nothing", "--batch", "1"], "nothing", hint="image")
        self.refused(64, ["input", "--layout", "nchw4"], "nchw4")
        self.refused(64, ["input"], "nothing to change")
        self.refused(65, ["input", "--shape", "1,4,8,8"], "conv1")
        source = save(self.folder / "fixed.onnx", [helper.make_node("Reshape", ["x", "s"], ["r"], "flat"),
                                                   helper.make_node("Gemm", ["r", "w"], ["y"], "head")],
                      [tensor("x", [1, 2, 2])], [tensor("y", [1, 3])],
                      [numpy_helper.from_array(np.array([1, 4], np.int64), "s"), floats("w", [4, 3], 1)])
        self.refused(65, ["input", "--batch", "2"], "flat", source=source)


class Preprocess(EditTest):
    def test_mean_and_std(self):
        mean, std = np.float32([120, 110, 100]), np.float32([60, 50, 40])
        self.edit("preprocess", "--mean", "120,110,100", "--std", "60,50,40")
        pixels = np.random.default_rng(3).integers(0, 256, [1, 3, 8, 8]).astype(np.float32)
        ready = (pixels - mean.reshape(1, 3, 1, 1)) / std.reshape(1, 3, 1, 1)
        check_same(self, run(self.source, {"image": ready}), run(self.out, {"image": pixels}), 1e-6)

    def test_crop_resize_and_scale(self):
        self.edit("preprocess", "--resize", "24x40", "--crop", "12x10", "--scale", "0.5")
        shape = [d.dim_value for d in self.graph().input[0].type.tensor_type.shape.dim]
        self.assertEqual(shape, [1, 3, 24, 40])
        flat = np.full([1, 3, 24, 40], 3, np.float32)
        check_same(self, run(self.source, {"image": np.full([1, 3, 8, 8], 1.5, np.float32)}), run(self.out, {"image": flat}), 1e-5)
        self.edit("preprocess", "--crop", "12x10")
        x = np.random.default_rng(3).standard_normal([1, 3, 12, 10]).astype(np.float32)
        check_same(self, run(self.source, {"image": x[:, :, 2:10, 1:9].copy()}), run(self.out, {"image": x}), 1e-6)
        self.edit("preprocess", "--resize", "0.5")
        self.assertEqual([d.dim_value for d in self.graph().input[0].type.tensor_type.shape.dim], [1, 3, 16, 16])

    def test_wrong_wishes(self):
        self.refused(64, ["preprocess", "--mean", "1,2"], "2 numbers")
        self.refused(64, ["preprocess", "--std", "0"], "above 0")
        self.refused(64, ["preprocess", "--crop", "4x4"], "smaller")
        self.refused(64, ["preprocess", "--resize", "big"], "big")
        self.refused(64, ["preprocess"], "nothing to do")
        old = classifier(self.folder / "old.onnx", opset=11)
        self.refused(65, ["preprocess", "--crop", "9x9"], "opset 13", source=old, hint="convert")


class Parts(EditTest):
    def test_extract_the_features(self):
        self.edit("extract", "--to", "features")
        expected = run(self.source_with("features"), random_inputs(self.source))["features"]
        np.testing.assert_array_equal(run(self.out, random_inputs(self.source))["features"], expected)

    def source_with(self, name):
        path = self.folder / "with.onnx"
        self.assert_done(kinglet("edit", self.source, "-o", path, "--force", "outputs", "--add", name))
        return path

    def test_extract_the_head_and_join_both_again(self):
        body, head = self.folder / "body.onnx", self.folder / "head.onnx"
        self.assert_done(kinglet("edit", self.source, "-o", body, "extract", "--to", "features"))
        self.assert_done(kinglet("edit", self.source, "-o", head, "extract", "--from", "features"))
        self.assertEqual([i.name for i in onnx.load(str(head)).graph.input], ["features"])
        self.edit("merge", head, "--prefix", "h_", source=body)
        inputs = random_inputs(self.source)
        np.testing.assert_array_equal(run(self.source, inputs)["scores"], run(self.out, inputs)["h_scores"])
        self.edit("merge", body, "--before", "--prefix", "b_", "--wire", "features=features", source=head)
        np.testing.assert_array_equal(run(self.source, inputs)["scores"],
                                      run(self.out, {"b_image": inputs["image"]})["scores"])

    def test_wrong_extracts(self):
        self.refused(64, ["extract"], "--from")
        self.refused(64, ["extract", "--to", "none"], "none")
        self.refused(64, ["extract", "--from", "kept", "--to", "features"], "kept")
        self.refused(64, ["extract", "--from", "w1"], "w1")

    def test_wrong_merges(self):
        other = classifier(self.folder / "other.onnx", opset=13)
        self.refused(64, ["merge", other], "opset 13", hint="--opset 17")
        self.refused(64, ["merge", self.source], "both models have", hint="--prefix")
        self.refused(64, ["merge", self.source, "--wire", "x=image"], '"x"', hint="scores")
        self.refused(64, ["merge", self.source, "--wire", "scores=x"], '"x"', hint="image")
        self.refused(66, ["merge", "none.onnx"], "none.onnx")
        self.refused(65, ["merge", self.source, "--prefix", "b_"], "b_conv1")


class Nodes(EditTest):
    def test_drop_node(self):
        self.edit("drop-node", "softmax", "Identity_5")
        graph = self.graph()
        self.assertEqual([n.op_type for n in graph.node], ["Conv", "Relu", "GlobalAveragePool", "Flatten", "Gemm"])
        self.assertEqual(graph.output[0].name, "scores")
        logits = run(self.out, random_inputs(self.source))["scores"]
        exact = run(self.source, random_inputs(self.source))["scores"]
        np.testing.assert_allclose(np.exp(logits) / np.exp(logits).sum(), exact, atol=1e-6)

    def test_drop_node_inside(self):
        self.edit("drop-node", "relu1")
        self.assertEqual(self.graph().node[1].input[0], "c1")

    def test_wrong_drops(self):
        self.refused(64, ["drop-node", "relu"], '"relu"', hint="relu1")
        self.refused(65, ["drop-node", "flatten"], "fc")
        source = save(self.folder / "one.onnx", [helper.make_node("Relu", ["x"], ["y"], "only")], [tensor("x", [1])],
                      [tensor("y", [1])])
        self.refused(64, ["drop-node", "only"], "only", "straight", source=source)

    def test_add_node(self):
        self.edit("add-node", "Mul", "--in", "scores,half", "--out", "halved", "--name", "halve", ",",
                  "outputs", "--add", "halved", source=self.with_constant())
        answers = run(self.out, random_inputs(self.source))
        np.testing.assert_array_equal(answers["halved"], answers["scores"] * np.float32(0.5))

    def with_constant(self):
        model = onnx.load(str(self.source))
        model.graph.initializer.append(numpy_helper.from_array(np.float32(0.5), "half"))
        onnx.save(model, str(self.folder / "half.onnx"))
        return self.folder / "half.onnx"

    def test_wrong_adds(self):
        self.refused(64, ["add-node", "Relu", "--in", "none", "--out", "y"], "none")
        self.refused(64, ["add-node", "Relu", "--in", "c1", "--out", "r1"], "r1")
        self.refused(64, ["add-node", "Relu", "--in", "c1"], "--out")
        self.refused(65, ["add-node", "Nonsense", "--in", "c1", "--out", "y"], "Nonsense")
        self.refused(65, ["add-node", "Concat", "--in", "c1", "--out", "y", "--attr", "axis=9"], "Concat")

    def test_wire(self):
        self.edit("wire", "pool.0=c1")
        self.assertNotIn("Relu", [n.op_type for n in self.graph().node])
        dropped = self.folder / "dropped.onnx"
        self.assert_done(kinglet("edit", self.source, "-o", dropped, "drop-node", "relu1"))
        inputs = random_inputs(self.source)
        check_same(self, run(dropped, inputs), run(self.out, inputs), 0)

    def test_wrong_wires(self):
        self.refused(64, ["wire", "pool.0=none"], "none")
        self.refused(64, ["wire", "pool.7=c1"], "pool", "7")
        self.refused(64, ["wire", "pool=c1"], "NODE.INPUT")
        self.refused(64, ["wire", "nowhere.0=c1"], "nowhere")
        self.refused(65, ["wire", "relu1.0=scores"], "cycle")

    def test_name_nodes(self):
        self.edit("name-nodes")
        self.assertEqual([n.name for n in self.graph().node],
                         ["conv1", "relu1", "pool", "flatten", "fc", "Identity_5", "softmax"])
        self.same_numbers()


class Numbers(EditTest):
    def test_set_changes_and_removes(self):
        self.edit("set", "conv1.strides=2,2", "--remove", "conv1.pads")
        conv = self.graph().node[0]
        self.assertEqual({a.name: list(a.ints) for a in conv.attribute}, {"strides": [2, 2]})

    def test_set_takes_the_kind_the_operator_has(self):
        self.edit("set", "fc.alpha=2")
        self.assertEqual(next(a for a in self.graph().node[4].attribute if a.name == "alpha").type, onnx.AttributeProto.FLOAT)

    def test_wrong_sets(self):
        self.refused(64, ["set", "conv1.pads=many"], "conv1", "pads")
        self.refused(64, ["set", "none.pads=1"], "none")
        self.refused(64, ["set", "pads=1"], "NODE.ATTRIBUTE")
        self.refused(64, ["set", "--remove", "conv1.none"], "none")
        self.refused(65, ["set", "conv1.strides=0,0"], "conv1")
        self.refused(65, ["set", "softmax.axis=7"], "softmax")

    def test_set_const(self):
        self.edit("set-const", f"b2={self.npy('b.npy', np.float32([9, 0, 0, 0, 0]))}")
        self.assertEqual(int(run(self.out, random_inputs(self.source))["scores"].argmax()), 0)

    def test_wrong_constants(self):
        self.refused(65, ["set-const", f"b2={self.npy('b.npy', np.float32([1, 2, 3]))}"], "fc")
        self.refused(65, ["set-const", f"b2={self.npy('i.npy', np.int64([1, 2, 3, 4, 5]))}"], "fc")
        self.refused(64, ["set-const", f"c1={self.folder / 'b.npy'}"], "c1", "computed")
        self.refused(66, ["set-const", "b2=none.npy"], "none.npy")
        self.refused(65, ["set-const", f"b2={self.file('no.npy', b'no')}"], "no.npy")

    def test_a_new_model(self):
        weight = self.npy("w.npy", np.random.default_rng(1).standard_normal([4, 3, 3, 3]).astype(np.float32))
        self.assert_done(kinglet("edit", "-o", self.out, "new", "Conv", "--in", "x:f32[1,3,8,8]", "--const", f"w={weight}",
                                 "--out", "y", "--attr", "pads=1,1,1,1"))
        check_file(self.out)
        self.assertEqual(run(self.out, {"x": np.zeros([1, 3, 8, 8], np.float32)})["y"].shape, (1, 4, 8, 8))
        for words, said in ((["Conv", "--in", "x", "--out", "y"], "NAME:TYPE"), (["Conv", "--in", "x:f99[1]", "--out", "y"], "f99"),
                            (["Relu", "--in", "x:f32[1]", "--out", "y", "--opset", "99"], "99")):
            self.assert_refused(kinglet("edit", "-o", self.folder / "no.onnx", "new", *words), 64, said)

    def test_strip(self):
        model = onnx.load(str(self.source))
        helper.set_model_props(model, {"who": "me", "kinglet.labels": "a\nb\nc\nd\ne\n"})
        onnx.save(model, str(self.source))
        self.edit("strip")
        self.assertEqual(self.graph().node[0].doc_string, "")
        self.assertEqual(len(self.graph().value_info), 1)
        self.same_numbers()
        self.edit("strip", "--all")
        self.assertEqual(len(self.graph().value_info), 0)
        self.assertEqual([p.key for p in onnx.load(str(self.out)).metadata_props], ["kinglet.labels"])


class Chains(EditTest):
    def test_one_read_one_write(self):
        self.edit("rename", "image=x", ",", "input", "--layout", "nhwc", ",", "outputs", "--add", "logits", ",", "strip", "--all")
        x = random_inputs(self.source)["image"]
        got = run(self.out, {"x": x.transpose(0, 2, 3, 1)})
        self.assertEqual(sorted(got), ["logits", "scores"])
        np.testing.assert_allclose(got["scores"], run(self.source, {"image": x})["scores"], atol=1e-6)

    def test_the_step_that_goes_wrong_is_named(self):
        self.refused(64, ["strip", ",", "drop-node", "none"], "edit 2 of 2 (drop-node)", "none")
        self.refused(65, ["set", "conv1.strides=0,0", ",", "strip"], "edit 1 of 2 (set)", "conv1")

    def test_what_is_not_touched_stays(self):
        model = onnx.load(str(self.source))
        model.graph.node[0].metadata_props.add(key="k", value="v")
        model.graph.initializer[0].doc_string = "weights"
        onnx.save(model, str(self.source))
        self.edit("rename", "conv1=stem")
        model.graph.node[0].name = "stem"
        self.assertEqual(model, onnx.load(str(self.out)))

    def test_the_same_bytes_twice_and_nothing_new_the_second_time(self):
        chain = ["name-nodes", ",", "strip", "--all", ",", "input", "--batch", "1"]
        self.edit(*chain)
        first, two = self.out.read_bytes(), self.folder / "two.onnx"
        ended = self.assert_done(kinglet("edit", self.out, "-o", two, *chain))
        self.assertEqual(first, two.read_bytes())
        self.assertIn("nothing is different", ended.err)

    def test_as_json(self):
        answer = self.assert_done(kinglet("edit", self.source, "-o", self.out, "--json", "drop-node", "relu1")).json()
        self.assertEqual(answer["gone"], [{"name": "relu1", "operator": "Relu"}])
        self.assertEqual(answer["nodes"], {"before": 7, "after": 6})

    def test_an_operator_kinglet_does_not_have(self):
        nodes = [helper.make_node("NonZero", ["x"], ["y"], "odd"), helper.make_node("Relu", ["x"], ["z"], "good")]
        source = save(self.folder / "odd.onnx", nodes, [tensor("x", [3])],
                      [tensor("y", [1, None], TensorProto.INT64), tensor("z", [3])])
        self.refused(65, ["strip"], "NonZero", source=source, hint="--unchecked")
        self.edit("outputs", "--remove", "y", source=source)
        ended = self.edit("strip", source=source, options=["--unchecked"])
        self.assertIn("not checked", ended.err)

    def test_wrong_lines(self):
        self.refused(64, [], "verb")
        self.refused(64, ["renam", "a=b"], "renam", hint="rename")
        self.refused(64, ["strip", "--al"], "--al", hint="--all")
        self.refused(64, ["strip", "here"], "here")
        self.refused(64, ["strip", ","], "verb")
        self.refused(64, ["outputs", "--add"], "--add", "TENSOR")
        self.assert_refused(kinglet("edit", self.source, "strip"), 64, "-o OUT")
        self.assert_refused(kinglet("edit", self.source, "-o", self.source, "strip"), 64, "same file")
        there = self.file("there.onnx", b"mine")
        self.assert_refused(kinglet("edit", self.source, "-o", there, "strip"), 73, "there.onnx", hint="--force")

    def test_every_verb_has_help_with_an_example(self):
        self.assertGreaterEqual(len(VERBS), 14)
        listed = self.assert_done(kinglet("edit", "--help")).text()
        for verb in VERBS:
            verb = "new" if verb == "new-model" else verb
            self.assertRegex(listed, rf"\n  {verb} ")
            text = self.assert_done(kinglet("edit", "--verb", verb)).text()
            self.assertIn("example: kinglet edit", text)


if __name__ == "__main__":
    main()
