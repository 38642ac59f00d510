# SPDX-License-Identifier: Apache-2.0
"""What optimize writes and verify says of it."""
import struct

from support import DEMO, SOURCE_DIR, CliTest, kinglet, main, reducible


class OptimizeAndVerify(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.file("in.onnx", reducible())
        self.out = self.folder / "out.onnx"

    def test_the_result_is_smaller_and_answers_the_same(self):
        answer = self.assert_done(kinglet("optimize", self.model, "-o", self.out, "--json")).json()
        self.assertLess(answer["after"]["nodes"], answer["before"]["nodes"])
        self.assertGreater(answer["proof"]["inputs"], 0)
        self.assertLessEqual(answer["proof"]["top1_same"], answer["proof"]["top1_compared"])
        same = self.assert_done(kinglet("verify", self.model, self.out, "--json")).json()
        self.assertTrue(same["same"])
        again = self.folder / "again.onnx"
        self.assert_done(kinglet("optimize", self.model, "-o", again))
        self.assertEqual(again.read_bytes(), self.out.read_bytes())

    def test_what_is_optimised_stays_as_it_is(self):
        self.assert_done(kinglet("optimize", self.model, "-o", self.out))
        again = self.folder / "again.onnx"
        answer = self.assert_done(kinglet("optimize", self.out, "-o", again, "--json")).json()
        self.assertEqual(answer["rewrites"], 0)
        self.assertEqual(again.read_bytes(), self.out.read_bytes())

    def test_the_proof_takes_pictures_and_tells_what_it_cost(self):
        pictures = self.folder / "pictures"
        pictures.mkdir()
        for name in ("rgb.png", "gray.jpg"):
            (pictures / name).write_bytes((SOURCE_DIR / "tests/fuzz/corpus/picture" / name).read_bytes())
        plain = self.assert_done(kinglet("optimize", DEMO, "-o", self.out, "--json")).json()["proof"]
        proof = self.assert_done(
            kinglet("optimize", DEMO, "-o", self.out, "--force", "--images", pictures, "--json")).json()["proof"]
        self.assertEqual(proof["inputs"], plain["inputs"] + 2)
        self.assertGreater(proof["ms"], 0)
        self.assertGreater(proof["peak_bytes"], 1_000_000)
        self.assert_refused(kinglet("optimize", DEMO, "-o", self.out, "--force", "--images", pictures, "--no-proof"), 64,
                            "--images")

    def test_passes_by_name_and_number(self):
        names = [row["name"] for row in self.assert_done(kinglet("optimize", "--list", "--json")).json()["passes"]]
        self.assertIn("fuse_bn_into_conv", names)

        def rewrites(*options):
            ended = kinglet("optimize", self.model, "-o", self.out, "--force", "--json", *options)
            return self.assert_done(ended).json()
        whole = rewrites()
        self.assertGreater(whole["rewrites"], 1)
        self.assertEqual(rewrites("--stop-after-rewrites", 1)["rewrites"], 1)
        self.assertEqual(rewrites("--until", names[0])["passes"][-1]["name"], names[0])
        used = [row["name"] for row in whole["passes"] if row["rewrites"] > 0]
        self.assertEqual([row["name"] for row in rewrites("--only", ",".join(used))["passes"]], used)
        skipped = rewrites("--skip", ",".join(used))
        self.assertFalse(set(used) & {row["name"] for row in skipped["passes"]})

    def test_the_input_is_never_changed(self):
        self.assert_refused(kinglet("optimize", self.model, "-o", self.model, "--force"), 64, "same file")
        self.assertEqual(self.model.read_bytes(), reducible())

    def test_the_result_on_standard_output(self):
        self.assert_done(kinglet("optimize", self.model, "-o", self.out))
        self.assertEqual(self.assert_done(kinglet("optimize", self.model, "-o", "-")).out, self.out.read_bytes())

    def test_an_output_that_is_there_is_kept_without_force(self):
        self.out.write_bytes(b"mine")
        self.assert_refused(kinglet("optimize", self.model, "-o", self.out), 73, self.out, hint="--force")
        self.assertEqual(self.out.read_bytes(), b"mine")

    def test_an_unknown_pass(self):
        ended = kinglet("optimize", self.model, "-o", self.out, "--only", "fuse_bn_into_conw")
        self.assert_refused(ended, 64, "fuse_bn_into_conw", hint="fuse_bn_into_conv")

    def test_different_models_end_with_one_and_the_place(self):
        other = self.file("other.onnx", reducible().replace(struct.pack("<f", 0.5) * 4, struct.pack("<f", 0.7) * 4))
        ended = self.assert_done(kinglet("verify", self.model, other), 1)
        self.assertIn("different", ended.text())
        self.assertIn('output "y"', ended.text())
        self.assertFalse(self.assert_done(kinglet("verify", self.model, other, "--json"), 1).json()["same"])

    def test_models_of_other_shapes_cannot_be_compared(self):
        self.assert_refused(kinglet("verify", self.model, DEMO), 65, "input", "[1,3,8,8]", "[1,3,96,96]")


if __name__ == "__main__":
    main()
