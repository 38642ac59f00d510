# SPDX-License-Identifier: Apache-2.0
"""`kinglet detect` finds what the detector's own library finds: its formulas in numpy over ONNX Runtime's outputs, box by
box, for each head of box_heads.def."""
import json
import unittest

from oracle import TensorProto, floats, helper, np, numpy_helper, run, save, tensor
from support import CORPUS, DEMO, CliTest, kinglet, main, png

YOLOX = CORPUS / "detectors" / "yolox_nano_416.onnx"
PHOTOS = ("bald_eagle.jpg", "burrowing_owl.jpg", "great_egret.jpg", "macaw.jpg", "red_winged_blackbird.jpg")
BIRD = 14  # of COCO's 80 classes
SIDE = 64
RANDOM = np.random.default_rng(33)
NOISE = RANDOM.integers(0, 256, (SIDE, SIDE, 3)).astype(np.uint8)


def ints(name, values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def noise_png():
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + row.tobytes() for row in NOISE)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


# --- The libraries' arithmetic ---

def bilinear(image, width, height):
    """cv2.resize, INTER_LINEAR: between the two pixels around (x + 0.5) * scale - 0.5, whole numbers."""
    def axis(size, wanted):
        at = np.clip((np.arange(wanted) + 0.5) * size / wanted - 0.5, 0, size - 1)
        low = np.minimum(at.astype(int), size - 1)
        return low, np.minimum(low + 1, size - 1), at - low
    pixels = image.astype(np.float64)
    low, high, share = axis(image.shape[1], width)
    pixels = pixels[:, low] * (1 - share)[None, :, None] + pixels[:, high] * share[None, :, None]
    low, high, share = axis(image.shape[0], height)
    pixels = pixels[low] * (1 - share)[:, None, None] + pixels[high] * share[:, None, None]
    return np.rint(pixels)


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def thinned(boxes, scores, least, most):
    """boxes [N,4], scores [N,C] -> (label, score, box), class by class."""
    kept = []
    for label in range(scores.shape[1]):
        of_class = []
        for at in np.argsort(-scores[:, label], kind="stable"):
            if scores[at, label] <= least:
                break
            if all(overlap(boxes[at], boxes[other]) <= most for other in of_class):
                of_class.append(at)
        kept += [(label, float(scores[at, label]), boxes[at]) for at in of_class]
    return sorted(kept, key=lambda one: -one[1])


def yolox(outputs, size):
    """yolox/utils/demo_utils.py, demo_postprocess."""
    grids, strides = [], []
    for stride in (8, 16, 32):
        x, y = np.meshgrid(np.arange(size // stride), np.arange(size // stride))
        grids.append(np.stack((x, y), 2).reshape(-1, 2))
        strides.append(np.full((grids[-1].shape[0], 1), stride))
    grid, stride = np.concatenate(grids), np.concatenate(strides)
    middle = (outputs[:, :2] + grid) * stride
    half = np.exp(outputs[:, 2:4]) * stride / 2
    return np.concatenate([middle - half, middle + half], 1), outputs[:, 4:5] * outputs[:, 5:]


def nanodet(outputs, size, classes, strides, center):
    """gfl_head.py and nanodet_plus_head.py: Integral over reg_max + 1 = 8 places, distance2bbox within the picture."""
    points = []
    for stride in strides:
        cells = -(-size // stride)
        y, x = np.mgrid[0:cells, 0:cells]
        points.append(np.stack([(x + center) * stride, (y + center) * stride, np.full_like(x, stride)], 2).reshape(-1, 3))
    points = np.concatenate(points).astype(np.float64)
    logits = outputs[:, classes:].reshape(-1, 4, 8)
    powers = np.exp(logits - logits.max(2, keepdims=True))
    distance = (powers / powers.sum(2, keepdims=True) * np.arange(8)).sum(2) * points[:, 2:]
    boxes = np.concatenate([points[:, :2] - distance[:, :2], points[:, :2] + distance[:, 2:]], 1)
    return np.clip(boxes, 0, size), outputs[:, :classes]


# --- Models in the form that the libraries export ---

def grid_model(path, classes, strides, beside, split):
    """A convolution a stride, its maps as rows, `split` of their numbers through a sigmoid."""
    nodes, weights, rows = [], [], []
    numbers = classes + beside
    for stride in strides:
        name = f"s{stride}"
        kernel = RANDOM.standard_normal((numbers, 3, stride, stride)) / stride / 2
        weights += [numpy_helper.from_array(kernel.astype(np.float32), name + "w"), ints(name + "r", [1, numbers, -1])]
        nodes += [helper.make_node("Conv", ["image", name + "w"], [name + "c"], name, strides=[stride, stride],
                                   kernel_shape=[stride, stride]),
                  helper.make_node("Reshape", [name + "c", name + "r"], [name + "f"])]
        rows.append(name + "f")
    nodes += [helper.make_node("Concat", rows, ["all"], axis=2),
              helper.make_node("Transpose", ["all"], ["rows"], perm=[0, 2, 1])]
    first, second = split
    weights.append(ints("parts", [first, numbers - first]))
    nodes.append(helper.make_node("Split", ["rows", "parts"], ["a", "b"], axis=2))
    nodes.append(helper.make_node("Sigmoid", [second], ["sure"]))
    nodes.append(helper.make_node("Concat", ["sure", "b"] if second == "a" else ["a", "sure"], ["output"], axis=2))
    count = sum((SIDE // stride) ** 2 for stride in strides)
    return save(path, nodes, [tensor("image", [1, 3, SIDE, SIDE])], [tensor("output", [1, count, numbers])], weights)


def nms_model(path):
    weights = [floats("wb", [4, 3, 8, 8], 1), floats("ws", [3, 3, 8, 8], 2), ints("rb", [1, 4, -1]), ints("rs", [1, 3, -1]),
               numpy_helper.from_array(np.array(12, np.float32), "k"), numpy_helper.from_array(np.array(32, np.float32), "m"),
               ints("most", [10]), numpy_helper.from_array(np.array([0.4], np.float32), "iou"),
               numpy_helper.from_array(np.array([0.45], np.float32), "least")]
    nodes = [helper.make_node("Conv", ["image", "wb"], ["b1"], strides=[8, 8]),
             helper.make_node("Reshape", ["b1", "rb"], ["b2"]), helper.make_node("Transpose", ["b2"], ["b3"], perm=[0, 2, 1]),
             helper.make_node("Mul", ["b3", "k"], ["b4"]), helper.make_node("Add", ["b4", "m"], ["boxes"]),
             helper.make_node("Conv", ["image", "ws"], ["s1"], strides=[8, 8]),
             helper.make_node("Reshape", ["s1", "rs"], ["s2"]), helper.make_node("Sigmoid", ["s2"], ["scores"]),
             helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "iou", "least"], ["selected"])]
    return save(path, nodes, [tensor("image", [1, 3, SIDE, SIDE])],
                [tensor("boxes", [1, 64, 4]), tensor("scores", [1, 3, 64]),
                 tensor("selected", [None, 3], TensorProto.INT64)], weights)


def planes(pixels):
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], dtype=np.float32)


class Detect(CliTest):
    def found(self, model, picture, *arguments):
        ended = self.assert_done(kinglet("detect", model, picture, "--json", *arguments))
        boxes = ended.json()["pictures"][0]["boxes"]
        self.assertEqual([b["score"] for b in boxes], sorted((b["score"] for b in boxes), reverse=True))
        return [(b["index"], b["score"], (b["box_px"]["x"], b["box_px"]["y"], b["box_px"]["x"] + b["box_px"]["width"],
                                          b["box_px"]["y"] + b["box_px"]["height"])) for b in boxes]

    def same(self, got, wanted, width, height, pixels=0.05, score=1e-4):
        """Each has its like in the other, but for scores that rounding may put on either side of the least."""
        self.assertGreater(len(wanted), 0)
        cut = [(label, value, np.clip(box, 0, [width, height, width, height])) for label, value, box in wanted]
        least = min(value for _, value, _ in cut) + 2 * score
        for these, those in ((got, cut), (cut, got)):
            for label, value, box in these:
                if value < least:
                    continue
                like = [o for o in those if o[0] == label and abs(o[1] - value) <= score
                        and np.abs(np.subtract(o[2], box)).max() <= pixels]
                self.assertTrue(like, f"{label} {value} {box} among {those}")

    def test_yolox_as_its_library(self):
        model = grid_model(self.folder / "m.onnx", 4, (8, 16, 32), 5, (4, "b"))
        raw = run(model, {"image": planes(NOISE[:, :, ::-1] / 64.0 - 2)})["output"][0]
        recipe = self.file("r.json", json.dumps({"preset": "yolox", "mean": 128, "std": 64}))
        wanted = thinned(*yolox(raw, SIDE), 0.3, 0.45)
        self.same(self.found(model, self.file("p.png", noise_png()), "--recipe", recipe), wanted, SIDE, SIDE)

    def test_nanodet_as_its_library(self):
        for preset, strides, center in (("nanodet", (8, 16, 32), 0.5), ("nanodet-plus", (8, 16, 32, 64), 0)):
            with self.subTest(preset=preset):
                model = grid_model(self.folder / f"{preset}.onnx", 5, strides, 32, (5, "a"))
                mean, std = np.array([103.53, 116.28, 123.675]), np.array([57.375, 57.12, 58.395])
                raw = run(model, {"image": planes((NOISE[:, :, ::-1] - mean) / std)})["output"][0]
                wanted = thinned(*nanodet(raw, SIDE, 5, strides, center), 0.35, 0.6)
                self.same(self.found(model, self.file("p.png", noise_png()), "--recipe", preset), wanted, SIDE, SIDE)

    def test_what_non_max_suppression_selected(self):
        model = nms_model(self.folder / "m.onnx")
        answer = run(model, {"image": planes(NOISE / 255.0)})
        self.assertGreater(len(answer["selected"]), 3)
        wanted = []
        for _, label, at in answer["selected"]:
            x1, y1, x2, y2 = answer["boxes"][0, at]
            wanted.append((int(label), float(answer["scores"][0, label, at]),
                           np.array([min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)])))
        self.same(self.found(model, self.file("p.png", noise_png()), "--recipe", "nms"), wanted, SIDE, SIDE)

    @unittest.skipUnless(YOLOX.exists(), "no detector in the corpus")
    def test_a_real_detector_on_photographs(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("python3-pil is needed")
        for name in PHOTOS:
            with self.subTest(photo=name), Image.open(CORPUS / "photos" / name) as image:
                pixels = np.asarray(image.convert("RGB"))[:, :, ::-1]
                height, width = pixels.shape[:2]
                ratio = min(416 / width, 416 / height)
                padded = np.full((416, 416, 3), 114.0)
                small = bilinear(pixels, int(width * ratio), int(height * ratio))
                padded[:small.shape[0], :small.shape[1]] = small
                boxes, scores = yolox(run(YOLOX, {"images": planes(padded)})["output"][0], 416)
                wanted = thinned(boxes / ratio, scores, 0.3, 0.45)
                self.assertIn(BIRD, [label for label, _, _ in wanted])
                got = self.found(YOLOX, CORPUS / "photos" / name, "--recipe", "yolox")
                self.same(got, wanted, width, height, pixels=0.002 * max(width, height), score=0.015)

    def test_says_in_words_what_it_found_and_where(self):
        model = nms_model(self.folder / "m.onnx")
        labels = self.file("l.txt", "bird\ncat\nperson\n")
        text = self.assert_done(kinglet("detect", model, self.file("p.png", noise_png()), "--recipe", "nms", "--labels",
                                        labels)).text()
        self.assertRegex(text, r"p\.png  64x64\n(  0\.\d{4}  \d+,\d+ \d+x\d+  (bird|cat|person)\n)+")

    def test_refuses_what_is_no_detector(self):
        picture = self.file("p.png", png(8, 8, (1, 2, 3)))
        model = nms_model(self.folder / "m.onnx")
        self.assert_refused(kinglet("detect", model, picture), 65, "says how its boxes are read", hint="--recipe yolox")
        self.assert_refused(kinglet("detect", model, picture, "--recipe", "torchvision"), 65, 'no "boxes"',
                            hint="--recipe yolox")
        self.assert_refused(kinglet("detect", model, picture, "--recipe", "yolox"), 65, 'head "yolox" expects one output',
                            hint="another head")
        self.assert_refused(kinglet("detect", DEMO, picture, "--recipe", "nms"), 65, 'head "nms" expects',
                            hint="another head")
        self.assert_refused(kinglet("classify", DEMO, picture, "--recipe", "yolox"), 65, "the recipe is a detector's",
                            hint="kinglet detect")

    def test_names_what_is_wrong_with_a_recipe_of_boxes(self):
        picture = self.file("p.png", png(8, 8, (1, 2, 3)))
        for recipe, word in (({"boxes": {}}, 'an object with a \\"head\\"'), ({"boxes": {"head": "ssd"}}, "one of"),
                             ({"preset": "yolox", "boxes": {"stride": [8]}}, "unknown recipe member"),
                             ({"preset": "yolox", "boxes": {"strides": [0]}}, "whole numbers from 1 to 1024"),
                             ({"preset": "nms", "boxes": {"least_score": 2}}, "a number from 0 to 1"),
                             ({"preset": "yolox", "pad": 256}, "from 0 to 255")):
            with self.subTest(recipe=recipe):
                file = self.file("r.json", json.dumps(recipe))
                ended = kinglet("detect", DEMO, picture, "--recipe", file)
                self.assertEqual(ended.code, 65, ended)
                self.assertIn(word.replace("\\", ""), ended.err)


if __name__ == "__main__":
    main()
