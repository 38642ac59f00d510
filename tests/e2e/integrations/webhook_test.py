# SPDX-License-Identifier: Apache-2.0
"""Webhooks with a real receiver that takes messages, fails, stalls, refuses and recovers."""
import base64
import hashlib
import hmac
import http.server
import itertools
import json
import threading
import time

from broker import free_port, until
from support import PATIENCE, SLOWER, Daemon, ScratchFolder, bird_show, main, picture_within

QUICK = [*bird_show(), "store.flush_interval=100ms"]
SECRET = "whsec_" + base64.b64encode(b"twenty-four secret bytes").decode()


class Receiver:
    """Answers POSTs as `behave` says (a status, or "stall"), and keeps all that came."""

    def __init__(self, behave=lambda number: 200, port=0, headers=None):
        self.received = []
        self.behave = behave
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append({"at": time.monotonic(), "path": self.path, "body": body,
                                          "headers": {name.lower(): value for name, value in self.headers.items()}})
                status = receiver.behave(len(receiver.received))
                if status == "stall":
                    receiver.ended.wait(PATIENCE)
                    return
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.ended = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait(self, count):
        return until(lambda: self.received[:count] if len(self.received) >= count else None, f"{count} messages")

    def stop(self):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()


class Webhooks(ScratchFolder):
    def receiver(self, *args, **named):
        receiver = Receiver(*args, **named)
        self.addCleanup(receiver.stop)
        return receiver

    def daemon(self, port, *sets):
        """Tells of its camera, which a test makes happen() at will; visits take their time."""
        daemon = Daemon(sets=[*QUICK, f"webhook.url=http://127.0.0.1:{port}/hook/secret-path", "webhook.events=camera", *sets])
        self.addCleanup(daemon.stop)
        return daemon

    def happen(self, daemon, owner, times):
        daemon.first_prediction()
        acts = itertools.cycle((("pause", "paused"), ("resume", "streaming")))

        def noted():
            return sum(self.status(daemon)[name] for name in ("waiting", "delivered_total", "dropped_total"))

        def enough():
            act, state = next(acts)
            daemon.ask("/api/v1/control/" + act, "POST", headers=owner)
            daemon.until(lambda: daemon.ask("/api/v1/camera").json()["state"] == state, state)
            time.sleep(0.3)  # the state is looked at five times a second; on a busy machine not each is seen
            return noted() >= wanted
        wanted = noted() + times
        daemon.until(enough, f"{times} changes that are told")

    def status(self, daemon):
        return daemon.ask("/api/v1/stats").json()["webhook"]

    def secret(self, text, name="secret", mode=0o600):
        file = self.folder / name
        file.write_text(text + "\n")
        file.chmod(mode)
        return file


class Taken(Webhooks):
    def test_a_visit_is_told_with_links_to_its_pictures(self):
        receiver = self.receiver()
        daemon = self.daemon(receiver.port, "webhook.events=visit.end", f"store.path={self.folder}")
        message = json.loads(receiver.wait(1)[0]["body"])
        self.assertEqual((message["type"], message["visit"]["state"]), ("visit.end", "ended"))
        self.assertEqual(daemon.ask(message["visit"]["links"]["crop"]).body[:2], b"\xff\xd8")
        self.assertEqual(message["urls"]["crop"], "http://%s:%d%s" % (*daemon.url, message["visit"]["links"]["crop"]))
        daemon.until(lambda: self.status(daemon)["delivered_total"] >= 1, "the count")
        self.assertIn('kinglet_webhook_messages_total{outcome="delivered"} ', daemon.ask("/metrics").body.decode())

    def test_the_first_picture_of_a_visit_is_there_with_its_start_or_within_a_second(self):
        receiver = self.receiver()
        daemon = self.daemon(receiver.port, 'webhook.events=["visit.start", "visit.picture"]', f"store.path={self.folder}")

        messages = lambda: [json.loads(one["body"]) for one in list(receiver.received)]
        _, first = until(lambda: picture_within(messages(), SLOWER), "a picture within a second")
        self.assertIn("crop", first["urls"])
        self.assertEqual(daemon.ask(first["visit"]["links"]["crop"]).body[:2], b"\xff\xd8")

    def test_each_message_is_signed_as_the_standard_has_it(self):
        receiver = self.receiver()
        daemon = self.daemon(receiver.port, f"webhook.secret_file={self.secret(SECRET)}",
                             f"webhook.token_file={self.secret('tk_1', 'token')}")
        self.happen(daemon, daemon.claim(), 2)
        for one in receiver.wait(2):
            headers = one["headers"]
            signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + one["body"]
            digest = hmac.new(b"twenty-four secret bytes", signed, hashlib.sha256).digest()
            self.assertEqual(headers["webhook-signature"], "v1," + base64.b64encode(digest).decode())
            self.assertLess(abs(int(headers["webhook-timestamp"]) - time.time()), 1000)
            self.assertEqual(headers["authorization"], "Bearer tk_1")
            self.assertEqual(headers["content-type"], "application/json")
        self.assertNotEqual(*(one["headers"]["webhook-id"] for one in receiver.wait(2)))

    def test_only_the_wished_events_come(self):
        receiver = self.receiver()
        self.daemon(receiver.port, 'webhook.events=["visit.start", "camera"]', f"store.path={self.folder}")
        types = []
        while "visit.start" not in types:
            types = [json.loads(one["body"])["type"] for one in receiver.wait(len(types) + 1)]
        self.assertEqual(set(types), {"visit.start", "camera"})

    def test_without_an_address_nothing_is_sent_and_nothing_is_shown(self):
        with Daemon(sets=QUICK) as daemon:
            daemon.first_prediction()
            self.assertNotIn("webhook", daemon.ask("/api/v1/stats").json())
            self.assertNotIn("mqtt", daemon.ask("/api/v1/stats").json())
            self.assertNotIn(b"webhook_messages", daemon.ask("/metrics").body)
            self.assertNotIn("webhook", daemon.ask("/readyz").json()["checks"])

    def test_the_address_is_a_secret(self):
        receiver = self.receiver()
        daemon = self.daemon(receiver.port)
        receiver.wait(1)
        value = daemon.ask("/api/v1/config", headers=daemon.claim()).json()["keys"]["webhook.url"]["value"]
        self.assertEqual(value, f"http://127.0.0.1:{receiver.port}/***")
        daemon.stop()
        self.assertNotIn("secret-path", "".join(daemon.lines))


class NotTaken(Webhooks):
    def test_one_that_fails_gets_it_again_under_the_same_id(self):
        receiver = self.receiver(lambda number: 503 if number <= 2 else 200)
        daemon = self.daemon(receiver.port)
        self.happen(daemon, daemon.claim(), 2)
        first = receiver.wait(3)
        self.assertEqual(len({one["headers"]["webhook-id"] for one in first}), 1)
        self.assertEqual(len({one["body"] for one in first}), 1)
        self.assertGreater(first[2]["at"] - first[1]["at"], 1)
        daemon.until(lambda: self.status(daemon)["delivered_total"] >= 2, "later ones")
        self.assertEqual(self.status(daemon)["failed_tries_total"], 2)
        self.assertEqual(self.status(daemon)["dropped_total"], 0)
        daemon.says("it answers 503")
        daemon.says("taken again")

    def test_it_is_dropped_after_its_tries(self):
        receiver = self.receiver(lambda number: 500)
        daemon = self.daemon(receiver.port, "webhook.tries=2")
        daemon.until(lambda: self.status(daemon)["dropped_total"] >= 1, "a drop")
        ids = [one["headers"]["webhook-id"] for one in receiver.received]
        self.assertEqual(ids[0], ids[1])
        ready = daemon.ask("/readyz")
        self.assertEqual((ready.status, ready.json()["checks"]["webhook"]["status"]), (200, "warn"))

    def test_what_is_refused_is_not_tried_again(self):
        receiver = self.receiver(lambda number: 410)
        daemon = self.daemon(receiver.port)
        self.happen(daemon, daemon.claim(), 2)
        daemon.until(lambda: self.status(daemon)["dropped_total"] >= 2, "drops")
        ids = [one["headers"]["webhook-id"] for one in receiver.received]
        self.assertEqual(len(ids), len(set(ids)))

    def test_a_wish_to_wait_is_respected(self):
        receiver = self.receiver(lambda number: 429 if number == 1 else 200, headers={"Retry-After": "4"})
        self.daemon(receiver.port)
        first = receiver.wait(2)
        self.assertGreaterEqual(first[1]["at"] - first[0]["at"], 4)

    def test_a_redirection_is_not_followed(self):
        other = self.receiver()
        receiver = self.receiver(lambda number: 302, headers={"Location": f"http://127.0.0.1:{other.port}/"})
        daemon = self.daemon(receiver.port)
        daemon.until(lambda: self.status(daemon)["dropped_total"] >= 1, "a refusal")
        self.assertEqual(other.received, [])

    def test_one_that_stalls_holds_up_neither_the_pipeline_nor_the_end(self):
        receiver = self.receiver(lambda number: "stall")
        daemon = self.daemon(receiver.port, "webhook.timeout=1s")
        receiver.wait(2)
        self.assertIn("timed out", self.status(daemon)["detail"])
        daemon.goes_on_and_ends(5)

    def test_one_that_is_not_there_yet_gets_them_when_it_comes(self):
        port = free_port()
        daemon = self.daemon(port)
        daemon.until(lambda: self.status(daemon)["failed_tries_total"] >= 2, "tries")
        receiver = self.receiver(port=port)
        receiver.wait(1)
        daemon.until(lambda: self.status(daemon)["waiting"] == 0, "nothing waits")
        self.assertEqual(self.status(daemon)["dropped_total"], 0)

    def test_a_secret_that_others_may_read_is_not_used(self):
        receiver = self.receiver()
        file = self.secret(SECRET, mode=0o644)
        daemon = self.daemon(receiver.port, f"webhook.secret_file={file}")
        daemon.until(lambda: "may be read by others" in self.status(daemon).get("detail", ""), "the reason")
        self.assertEqual(receiver.received, [])
        file.chmod(0o600)
        receiver.wait(1)

    def test_what_no_address_or_event_is_stops_the_start(self):
        for assignment in ("webhook.url=ftp://a/hush", "webhook.events=visits"):
            daemon = Daemon(sets=["webhook.url=http://127.0.0.1:1/hush", assignment], wait=False)
            self.assertEqual(daemon.process.wait(PATIENCE), 78)
            daemon.stop()
            self.assertIn(assignment.split("=")[0], "".join(daemon.lines))
            self.assertNotIn("hush", "".join(daemon.lines))


if __name__ == "__main__":
    main()
