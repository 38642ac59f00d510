# SPDX-License-Identifier: Apache-2.0
"""The Open Inference Protocol (KServe v2) with the requests of its specification, binary tensors and hostile bodies."""
import base64
import json
import struct
import threading
import time
import unittest

from support import PATIENCE, Daemon, main

DEMO = "/v2/models/kinglet-demo"


class Inference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(sets=["source=demo:1", "gate.motion=false"])
        cls.daemon.first_prediction()
        cls.picture = cls.daemon.until(lambda: (reply := cls.daemon.ask("/snapshot.jpg")).status == 200 and reply.body,
                                       "a picture")
        cls.model = cls.daemon.ask(DEMO).json()

    @classmethod
    def tearDownClass(cls):
        code, _ = cls.daemon.stop()
        assert code == 0, code

    def infer(self, request, binary=b"", path=DEMO + "/infer", **headers):
        text = request if isinstance(request, bytes) else json.dumps(request).encode()
        named = {"Content-Type": "application/octet-stream" if binary else "application/json", **headers}
        if binary:
            named.setdefault("Inference-Header-Content-Length", str(len(text)))
        return self.daemon.ask(path, "POST", text + binary, named)

    def answer(self, *args, **named):
        reply = self.infer(*args, **named)
        self.assertEqual(reply.status, 200, reply.body)
        return reply

    def assert_error(self, reply, status, text):
        self.assertEqual((reply.status, reply.headers["content-type"]), (status, "application/json"), reply.body)
        error = reply.json()
        self.assertEqual(list(error), ["error"])
        self.assertIn(text, error["error"])
        self.assertNotIn("\n", error["error"])

    def tensor(self, **changes):
        one = self.model["inputs"][0]
        return {"name": one["name"], "shape": one["shape"], "datatype": one["datatype"], **changes}

    def elements(self):
        count = 1
        for side in self.model["inputs"][0]["shape"]:
            count *= side
        return count


class Says(Inference):
    def test_the_server_and_the_model_say_what_they_are(self):
        server = self.daemon.ask("/v2").json()
        self.assertEqual((server["name"], server["extensions"]),
                         ("kinglet", ["binary_tensor_data", "classification", "statistics"]))
        for path in ("/v2/health/live", "/v2/health/ready", DEMO + "/ready"):
            self.assertEqual(self.daemon.ask(path).status, 200, path)
        facts = self.daemon.ask("/api/v1/model").json()
        self.assertEqual(self.model["versions"], [facts["digest"].split(":")[1][:12]])
        self.assertEqual([one["name"] for one in self.model["inputs"]], [one["name"] for one in facts["inputs"]])
        self.assertEqual(self.model["inputs"][0]["datatype"], "FP32")
        version = f"{DEMO}/versions/{self.model['versions'][0]}"
        self.assertEqual(self.daemon.ask(version).json(), self.model)
        self.assertTrue(self.daemon.ask(version + "/ready").json()["ready"])

    def test_another_model_or_version_is_not_found(self):
        self.assert_error(self.daemon.ask("/v2/models/resnet"), 404, '"kinglet-demo" is loaded')
        self.assert_error(self.daemon.ask(DEMO + "/versions/1/ready"), 404, 'no version "1"')
        self.assert_error(self.infer({}, path="/v2/models/resnet/infer"), 404, "is loaded")

    def test_without_a_model_it_lives_and_is_not_ready(self):
        with Daemon(sets=["source=demo:", "model.path=/nowhere.onnx"]) as daemon:
            self.assertEqual(daemon.ask("/v2/health/live").json(), {"live": True})
            self.assertEqual((reply := daemon.ask("/v2/health/ready")).status, 503)
            self.assertEqual(reply.json(), {"ready": False})
            self.assert_error(daemon.ask(DEMO), 503, "no model is loaded")
            self.assert_error(daemon.ask(DEMO + "/infer", "POST", "{}", {"Content-Type": "application/json"}), 503, "no model")


class Answers(Inference):
    def scores(self, reply):
        return reply.json()["outputs"][0]["data"]

    def test_a_tensor_gives_the_same_answer_in_each_form(self):
        values = [((i * 37) % 255) / 255 for i in range(self.elements())]
        flat = self.answer({"id": "42", "inputs": [self.tensor(data=values)]}).json()
        self.assertEqual((flat["id"], flat["model_name"], flat["model_version"]),
                         ("42", "kinglet-demo", self.model["versions"][0]))
        self.assertEqual(flat["outputs"][0]["shape"], self.model["outputs"][0]["shape"])

        def nested(numbers, shape):
            if len(shape) == 1:
                return numbers
            size = len(numbers) // shape[0]
            return [nested(numbers[i * size:(i + 1) * size], shape[1:]) for i in range(shape[0])]
        deep = self.answer({"inputs": [self.tensor(data=nested(values, self.model["inputs"][0]["shape"]))]}).json()
        self.assertEqual(deep["outputs"], flat["outputs"])

        data = struct.pack(f"<{len(values)}f", *values)
        binary = {"inputs": [self.tensor(parameters={"binary_data_size": len(data)})]}
        self.assertEqual(self.answer(binary, data).json()["outputs"], flat["outputs"])

        reply = self.answer({**binary, "parameters": {"binary_data_output": True}}, data)
        self.assertEqual(reply.headers["content-type"], "application/octet-stream")
        length = int(reply.headers["inference-header-content-length"])
        output = json.loads(reply.body[:length])["outputs"][0]
        self.assertEqual(output["parameters"]["binary_data_size"], len(reply.body) - length)
        self.assertNotIn("data", output)
        got = struct.unpack(f"<{(len(reply.body) - length) // 4}f", reply.body[length:])
        self.assertEqual(got, tuple(struct.unpack("<f", struct.pack("<f", one))[0] for one in flat["outputs"][0]["data"]))

    def test_other_numbers_give_another_answer_and_the_camera_is_not_disturbed(self):
        one = self.scores(self.answer({"inputs": [self.tensor(data=[0.0] * self.elements())]}))
        other = self.scores(self.answer({"inputs": [self.tensor(data=[1.0] * self.elements())]}))
        self.assertNotEqual(one, other)
        before = self.daemon.prediction()["seq"]
        self.daemon.until(lambda: self.daemon.prediction()["seq"] > before + 3, "predictions of the camera")

    def test_a_picture_is_answered_as_by_classify(self):
        label = self.daemon.ask("/api/v1/classify", "POST", self.picture, {"Content-Type": "image/jpeg"}).json()["top"][0]
        output = {"name": self.model["outputs"][0]["name"], "parameters": {"classification": 3}}
        in_json = {"inputs": [{"name": "image", "shape": [1], "datatype": "BYTES",
                               "data": [base64.b64encode(self.picture).decode()]}], "outputs": [output]}
        first = self.answer(in_json).json()["outputs"][0]
        self.assertEqual((first["datatype"], first["shape"]), ("BYTES", [3]))
        score, index, name = first["data"][0].split(":", 2)
        self.assertEqual((int(index), name), (label["index"], label["label"]))
        self.assertGreaterEqual(float(score), float(first["data"][1].split(":")[0]))
        data = struct.pack("<I", len(self.picture)) + self.picture
        wish = {"name": output["name"], "parameters": {"classification": 3, "binary_data": True}}
        reply = self.answer({"inputs": [{"name": "image", "shape": [1], "datatype": "BYTES",
                                         "parameters": {"binary_data_size": len(data)}}], "outputs": [wish]}, data)
        packed = reply.body[int(reply.headers["inference-header-content-length"]):]
        size = struct.unpack("<I", packed[:4])[0]
        self.assertEqual(packed[4:4 + size].decode(), first["data"][0])

    def test_figures_are_kept_of_its_own(self):
        def stats():
            return self.daemon.ask(DEMO + "/stats").json()["model_stats"][0]
        before = stats()
        self.answer({"inputs": [self.tensor(data=[0.5] * self.elements())]})
        self.assert_error(self.infer({"inputs": []}), 400, "one input")
        after = stats()
        self.assertEqual(after["inference_count"], before["inference_count"] + 1)
        self.assertEqual(after["inference_stats"]["fail"]["count"], before["inference_stats"]["fail"]["count"] + 1)
        for part in ("queue", "compute_input", "compute_infer", "compute_output"):
            self.assertGreater(after["inference_stats"][part]["ns"], before["inference_stats"][part]["ns"], part)
        self.assertGreater(after["last_inference"], 1_700_000_000_000)

    def test_more_than_can_wait_are_sent_away_and_the_others_answered(self):
        data = struct.pack(f"<{self.elements()}f", *([0.25] * self.elements()))
        request = {"inputs": [self.tensor(parameters={"binary_data_size": len(data)})]}
        statuses = []
        ended = time.monotonic() + PATIENCE

        def ask():
            while (statuses.count(200) <= 20 or 503 not in statuses) and time.monotonic() < ended:
                statuses.append(self.infer(request, data).status)
        threads = [threading.Thread(target=ask) for _ in range(12)]  # five may be there at once
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(statuses), {200, 503})
        self.assertGreater(statuses.count(200), 20)


class Refuses(Inference):
    def test_hostile_bodies_get_one_line(self):
        data = struct.pack("<4f", 1, 2, 3, 4)
        size = 4 * self.elements()
        for request, binary, text in (
                (b"", b"", "no JSON object"), (b"\xff\xfe", b"", "no JSON object"), (b"[" * 5000, b"", "16 levels"),
                (b'{"a":' * 200 + b"1" + b"}" * 200, b"", "16 levels"),
                ({"inputs": [self.tensor(data=[1, 2, 3])]}, b"", "3 values"),
                ({"inputs": [self.tensor(shape=[1, 3, 4096, 4096], data=[1])]}, b"", "expected"),
                ({"inputs": [self.tensor(shape=[2 ** 63, 2 ** 63], data=[1])]}, b"", "expected"),
                ({"inputs": [self.tensor(datatype="FP64", data=[1])]}, b"", "not FP64"),
                ({"inputs": [self.tensor(parameters={"binary_data_size": 2 ** 64 - 1})]}, data, "behind the JSON are 16"),
                ({"inputs": [self.tensor(parameters={"binary_data_size": 16})]}, data, f"expected {size}"),
                ({"inputs": [self.tensor(parameters={"binary_data_size": 8})]}, data, "behind the JSON"),
                ({"inputs": [{"name": "image", "shape": [1], "datatype": "BYTES", "data": ["AAAA"]}]}, b"", "")):
            with self.subTest(text=text):
                self.assert_error(self.infer(request, binary), 400, text)
        for length in ("-1", "99999999999999999999", "x", "17000"):
            reply = self.infer({"inputs": []}, data, **{"Inference-Header-Content-Length": length})
            self.assert_error(reply, 400, "Inference-Header-Content-Length")
        many = b'{"inputs":[' + b",".join(b"0" for _ in range(1_000_000)) + b"]}"
        self.assert_error(self.infer(many), 400, "values")
        self.assertEqual(self.daemon.ask("/livez").status, 200)

    def test_an_object_of_many_members_is_no_work(self):
        members = b",".join(b'"%x":0' % i for i in range(25_000))
        self.assert_error(self.infer(b"{" + members + b"}"), 400, "is not known")

    def test_what_the_door_says_has_the_form_of_the_protocol(self):
        self.assert_error(self.infer({}, **{"Content-Type": "text/plain"}), 400, "Content-Type")
        self.assert_error(self.infer({}, **{"Content-Encoding": "gzip"}), 415, "compressed")
        self.assert_error(self.daemon.ask(DEMO + "/infer"), 405, "not allowed")
        self.assert_error(self.daemon.ask("/v2/nothing"), 404, "nothing at this path")
        received = self.daemon.raw(f"POST {DEMO}/infer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                   "Content-Length: 12000000\r\n\r\n".encode())
        self.assertTrue(received.startswith(b"HTTP/1.1 413 "), received[:100])
        self.assertIn(b'{"error":"the body is larger than', received)
        self.assert_error(self.daemon.ask("/v2?x=1"), 400, "not a parameter")


if __name__ == "__main__":
    main()
