# SPDX-License-Identifier: Apache-2.0
"""privacy.people = "hide" from the camera to the disk: who walks into the picture is in nothing that is stored or handed out, also
where nobody has looked for people since. A red patch is a bird, a blue one a person, for a model and a detector made here."""
import io
import re
import sys

from PIL import Image
from support import Daemon, ScratchFolder, main
from made_files import FLOAT, constant, means_and_then, model, node, value_info  # after support, which finds it
from clip_test import parts

# Shows the JPEG that its order names.
CAMERA = r"""
import sys, time
while True:
    sys.stdout.buffer.write(open(open(sys.argv[1]).read(), "rb").read())
    sys.stdout.buffer.flush()
    time.sleep(0.04)
"""
GREY, RED, BLUE = (110, 110, 110), (250, 10, 10), (10, 10, 250)
SIZE = (320, 240)
PERSON = (240, 80, 320, 240)
SCENES = {"nobody": [], "bird": [(RED, (0, 0, 60, 240))], "near": [(RED, (0, 0, 128, 240)), (BLUE, PERSON)],
          "person": [(BLUE, PERSON)]}


def colour_model():
    """Scores by the mean of the picture: red above the others, blue above the others, and neither."""
    weights = [12.0, -6.0, 0.0, -6.0, -6.0, 0.0, -6.0, 12.0, 0.0]
    return means_and_then([node("MatMul", ["flat", "w"], ["much"], "much"), node("Add", ["much", "b"], ["y"], "add")],
                          [("y", [1, 3], FLOAT)], [constant("w", [3, 3], weights), constant("b", [3], [0.0, 0.0, 1.0])])


def colour_detector():
    """As tests/support/made_detector.h: four times four cells of 16 pixels, a box of 40 around one that has enough of a colour."""
    weights = [0.0] * 15 + [1.0, -0.5, -0.5] + [-0.5, -0.5, 1.0]
    nodes = [node("AveragePool", ["image"], ["cells"], "pool", kernel_shape=[16, 16], strides=[16, 16]),
             node("Conv", ["cells", "w", "b"], ["rows"], "rows"), node("Reshape", ["rows", "shape"], ["flat"], "flat"),
             node("Transpose", ["flat"], ["output"], "turn", perm=[0, 2, 1])]
    numbers = [constant("w", [7, 3, 1, 1], weights), constant("b", [7], [0.5, 0.5, 0.9162907, 0.9162907, 1.0, 0.0, 0.0]),
               constant("shape", [3], [1, 7, 16], 7)]
    return model(nodes, [value_info("image", [1, 3, 64, 64])], [value_info("output", [1, 16, 7])], numbers)


def opened(jpeg):
    return Image.open(io.BytesIO(jpeg)).convert("RGB")


def shows_the_person(jpeg):
    pixels = list(opened(jpeg).getdata())
    return sum(blue > 150 and red < 100 and green < 100 for red, green, blue in pixels) > len(pixels) / 500


def hides_the_person(jpeg):
    """He was there, and is black; of the whole frame."""
    return max(opened(jpeg).resize(SIZE).getpixel((280, 160))) < 30


class People(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.order = self.folder / "order"
        for name, patches in SCENES.items():
            scene = Image.new("RGB", SIZE, GREY)
            for colour, box in patches:
                scene.paste(colour, box)
            scene.save(self.folder / f"{name}.jpg", quality=95)
        self.show("nobody")
        (self.folder / "camera.py").write_text(CAMERA)
        (self.folder / "birds.onnx").write_bytes(colour_model())
        (self.folder / "birds.labels.txt").write_text("Turdus merula\nParus major\nbackground\n")
        (self.folder / "birds.recipe.json").write_text('{"std": 255}')
        (self.folder / "people.onnx").write_bytes(colour_detector())
        (self.folder / "people.labels.txt").write_text("bird\nperson\n")
        (self.folder / "people.recipe.json").write_text(
            '{"preset": "yolox", "color_order": "rgb", "std": 255, "boxes": {"strides": [16], "least_score": 0.2}}')

    def show(self, scene):
        # Renamed, so that it is never read half written.
        (self.folder / "next").write_text(str(self.folder / f"{scene}.jpg"))
        (self.folder / "next").rename(self.order)

    def daemon(self, *sets):
        return Daemon(sets=[f"source=exec:{sys.executable} {self.folder / 'camera.py'} {self.order}", "gate.motion=false",
                            "gate.max_fps=20", "look.propose=whole", f"model.path={self.folder / 'birds.onnx'}",
                            f"detector.path={self.folder / 'people.onnx'}", 'decide.allow=["turdus-merula"]',
                            "store.clips=2s", f"store.path={self.folder / 'state'}", *sets])

    def samples(self, daemon, owner):
        camera = daemon.ask("/api/v1/cameras").json()["items"][0]["links"]["self"]
        body = daemon.ask(camera + "/frames", headers=owner).body
        found = []
        while match := re.match(rb"--kinglet\r\nContent-Type: image/jpeg\r\nContent-Length: (\d+)\r\n(?:X-.*\r\n)+\r\n", body):
            found.append(body[match.end():match.end() + int(match[1])])
            body = body[match.end() + int(match[1]) + 2:]
        self.assertEqual(body, b"--kinglet--\r\n")
        return found

    def stored(self):
        """JPEGs by what they are of the visits on the disk."""
        found = {"crop": [], "frame": [], "clip": []}
        for path in (self.folder / "state" / "pictures").rglob("vis_*"):
            kind = path.name.split(".")[1]
            found[kind] += [jpeg for _, jpeg in parts(path.read_bytes())] if kind == "clip" else [path.read_bytes()]
        return found

    def end_in_a_visit(self, *sets, first="bird"):
        with self.daemon(*sets) as daemon:
            daemon.first_prediction()
            self.show(first)
            daemon.until(lambda: daemon.ask("/api/v1/visits").json()["items"], "a visit")
            self.show("near")
            # The visit's best look has the person in it.
            near = daemon.until(lambda: (now := daemon.prediction())["top"][0]["score"] > 0.8 and now, "a nearer bird")
            filmed = daemon.ask("/api/v1/stats").json()["clips"]["frames_total"]
            daemon.until(lambda: daemon.prediction()["seq"] > near["seq"] + 2, "further looks")
            daemon.until(lambda: daemon.ask("/api/v1/stats").json()["clips"]["frames_total"] > filmed + 2, "pictures of its clip")
            self.assertEqual(daemon.stop()[0], 0)
        return self.stored()

    def test_who_comes_before_the_daemon_ends_in_a_visit_is_in_none_of_its_pictures(self):
        found = self.end_in_a_visit("privacy.people=hide")
        self.assertEqual({kind: bool(jpegs) for kind, jpegs in found.items()}, {"crop": True, "frame": True, "clip": True})
        for kind, jpegs in found.items():
            self.assertEqual([shows_the_person(jpeg) for jpeg in jpegs], [False] * len(jpegs), kind)
        self.assertTrue(hides_the_person(found["frame"][0]))

    def test_where_people_are_shown_he_is_in_all_of_them(self):
        # From the begin on: a clip has five seconds of a visit, and on a busy machine they are over before he would come.
        found = self.end_in_a_visit(first="near")
        for kind, jpegs in found.items():
            self.assertTrue(any(shows_the_person(jpeg) for jpeg in jpegs), kind)

    def test_no_sample_and_no_picture_of_a_track_without_a_name_shows_him_at_any_time(self):
        with self.daemon("privacy.people=hide") as daemon:
            daemon.first_prediction()
            owner = daemon.claim()
            daemon.until(lambda: self.samples(daemon, owner), "a sample")

            def looked_into():
                samples = self.samples(daemon, owner)
                tracks = daemon.ask("/api/v1/tracks").json()["items"]
                crops = [daemon.ask(track["links"]["crop"]).body for track in tracks if "crop" in track["links"]]
                self.assertEqual([jpeg for jpeg in samples + crops if shows_the_person(jpeg)], [])
                return samples, crops
            self.show("person")
            daemon.until(lambda: any(hides_the_person(jpeg) for jpeg in looked_into()[0]), "a sample with somebody in it")
            self.show("nobody")
            daemon.until(lambda: any(hides_the_person(jpeg) for jpeg in looked_into()[1]), "the picture of his track")


if __name__ == "__main__":
    main()
