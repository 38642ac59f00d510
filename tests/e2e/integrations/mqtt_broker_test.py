# SPDX-License-Identifier: Apache-2.0
"""MQTT while the broker is away, old, slow, locked or not who it should be."""
import re
import signal
import socket
import subprocess
from pathlib import Path

from broker import Listener, OldBroker, free_port, until
from mqtt_case import QUICK, Mqtt
from support import PATIENCE, Daemon, main


class Away(Mqtt):
    def test_killed_and_started_again_the_broker_misses_no_visit(self):
        broker = self.broker()
        live = self.listen(broker)
        daemon = self.daemon(broker.port)
        live.wait("event/visit", lambda p: b'"visit.end"' in p)
        broker.kill()
        daemon.until(lambda: self.status(daemon)["state"] == "waiting", "the loss")
        self.assertEqual(self.metric(daemon, "kinglet_mqtt_up"), 0)
        before = daemon.prediction()["seq"]
        daemon.until(lambda: self.status(daemon)["waiting"] >= 3, "events that wait")
        self.assertGreater(daemon.prediction()["seq"], before)
        ready = daemon.ask("/readyz")
        self.assertEqual((ready.status, ready.json()["status"]), (200, "warn"))
        self.assertIn("Connection refused", ready.json()["checks"]["mqtt"]["detail"])
        # Nobody speaks before somebody listens.
        daemon.process.send_signal(signal.SIGSTOP)
        broker.start()
        again = self.listen(broker)
        broker.publish("marker", "1", "-r")
        again.wait("marker")
        daemon.process.send_signal(signal.SIGCONT)
        again.wait("test/status", lambda p: p == b"online")
        again.wait("kinglet_test/config")
        daemon.until(lambda: self.status(daemon)["waiting"] == 0, "nothing waits")
        visits = daemon.ask("/api/v1/visits?limit=500&order=asc").json()["items"]

        def missed():
            ended = {told["visit"]["id"] for told in live.json_of("event/visit") + again.json_of("event/visit")
                     if told["type"] == "visit.end"}
            return [visit["id"] for visit in visits if visit["state"] == "ended" and visit["id"] not in ended]
        # What was on its way through the broker when it was killed is not ours.
        daemon.until(lambda: len(missed()) <= 2, "the ends of all visits")
        self.assertEqual(self.status(daemon)["dropped_total"], 0)
        self.assertEqual(daemon.ask("/readyz").json()["status"], "pass")

    def test_a_broker_that_never_is_costs_nothing_but_a_line(self):
        daemon = self.daemon(free_port())
        daemon.first_prediction()
        daemon.until(lambda: self.status(daemon)["waiting"] >= 2, "events that wait")
        daemon.says("mqtt:")
        self.assertEqual(sum("mqtt:" in line for line in daemon.lines), 1, daemon.lines)
        self.assertEqual(daemon.ask("/livez").status, 200)
        self.assertEqual(daemon.stop()[0], 0)

    def test_a_name_that_is_not_known_is_said(self):
        daemon = self.daemon(1883, host="no-such-host.invalid")
        daemon.until(lambda: "its name is not" in self.status(daemon).get("detail", ""), "the reason")

    def test_one_that_takes_connections_and_never_answers_holds_up_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            daemon = self.daemon(silent.getsockname()[1])
            daemon.first_prediction()
            daemon.until(lambda: "does not answer in MQTT" in self.status(daemon).get("detail", ""), "the reason")
            code, seconds = daemon.stop()
            self.assertEqual(code, 0)
            self.assertLess(seconds, 10)

    def test_one_that_stands_still_while_connected_does_not_hold_up_the_end(self):
        broker = self.broker()
        daemon = self.daemon(broker.port)
        self.connected(daemon)
        broker.pause()
        self.addCleanup(broker.resume)
        daemon.goes_on_and_ends(10)

    def test_an_old_broker_is_spoken_to_in_its_version(self):
        old = OldBroker()
        self.addCleanup(old.stop)
        daemon = self.daemon(old.port)
        self.connected(daemon)
        self.assertEqual(old.versions[:2], [5, 4])
        until(lambda: "kinglet/test/event/visit" in old.published, "an event")
        daemon.says("version 3.1.1")


class Large(Mqtt):
    """What anybody may publish who may publish at all."""
    LARGE = 3000 << 16  # 197 MB
    # On a busy machine the daemon grows by 11 to 21 MB after 20 answers although nobody sends it anything.
    MOST = LARGE // 4

    def peak(self, daemon):
        text = Path(f"/proc/{daemon.process.pid}/status").read_text()
        return int(re.search(r"^VmHWM:\s+(\d+) kB$", text, re.MULTILINE)[1]) << 10

    def settled(self, daemon):
        self.connected(daemon)
        daemon.until(lambda: daemon.ask("/api/v1/stats").json()["images"]["total"] >= 20, "20 answers")
        return self.peak(daemon)

    def test_a_large_message_is_not_sent_to_us(self):
        broker = self.broker()
        daemon = self.daemon(broker.port, "mqtt.commands=true")
        before = self.settled(daemon)
        payload = self.folder / "payload"
        with payload.open("wb") as file:
            file.truncate(self.LARGE)
        subprocess.run(["mosquitto_pub", "-h", "127.0.0.1", "-p", str(broker.port), "-q", "1", "-t",
                        "kinglet/test/command/pause", "-f", payload], check=True, timeout=PATIENCE)
        broker.publish("kinglet/test/command/pause", "ON")
        daemon.until(lambda: daemon.ask("/api/v1/stats").json()["camera"]["state"] == "paused", "what came after it")
        self.assertLess(self.peak(daemon) - before, self.MOST)
        daemon.stop()
        self.assertFalse(any("trying again" in line for line in daemon.lines), daemon.lines)

    def test_from_a_broker_that_sends_it_all_the_same_little_is_taken(self):
        old = OldBroker()
        self.addCleanup(old.stop)
        daemon = self.daemon(old.port, "mqtt.commands=true")
        before = self.settled(daemon)
        old.flood = self.LARGE
        daemon.stop()
        daemon = self.daemon(old.port, "mqtt.commands=true")
        daemon.until(lambda: "sends more than" in self.status(daemon).get("detail", ""), "the reason")
        daemon.first_prediction()
        self.assertLess(self.peak(daemon) - before, self.MOST)
        self.assertEqual(daemon.stop()[0], 0)
        self.assertLess(old.flooded, self.MOST, "what the system holds, and a little")


class Locked(Mqtt):
    def with_password(self):
        passwords = self.folder / "passwords"
        subprocess.run(["mosquitto_passwd", "-b", "-c", passwords, "feeder", "hunter-right"], check=True, capture_output=True)
        passwords.chmod(0o600)
        return self.broker("allow_anonymous false", f"password_file {passwords}")

    def test_a_wrong_password_is_said_once_and_a_right_one_taken_up(self):
        broker = self.with_password()
        file = self.secret("hunter-wrong\n")
        daemon = self.daemon(broker.port, "mqtt.username=feeder", f"mqtt.password_file={file}")
        daemon.first_prediction()
        daemon.until(lambda: "refuses us" in self.status(daemon).get("detail", ""), "a refusal")
        self.assertEqual(daemon.ask("/readyz").status, 200)
        file.write_text("hunter-right\n")
        self.connected(daemon)
        self.assertNotIn(b"hunter", daemon.ask("/api/v1/config", headers=daemon.claim()).body)
        daemon.stop()
        self.assertEqual(sum("refuses us" in line for line in daemon.lines), 1)
        self.assertNotIn("hunter", "".join(daemon.lines))

    def test_a_password_that_others_may_read_is_not_used(self):
        broker = self.with_password()
        file = self.secret("hunter-right\n")
        file.chmod(0o644)
        daemon = self.daemon(broker.port, "mqtt.username=feeder", f"mqtt.password_file={file}")
        daemon.until(lambda: "may be read by others" in self.status(daemon).get("detail", ""), "the reason")
        file.chmod(0o600)
        self.connected(daemon)

    def test_systemd_hands_over_the_password_as_a_credential(self):
        broker = self.with_password()
        self.secret("hunter-right\n", "mqtt-password")
        daemon = Daemon(sets=[*QUICK, f"mqtt.url=mqtt://127.0.0.1:{broker.port}", "mqtt.username=feeder"],
                        env={"CREDENTIALS_DIRECTORY": str(self.folder)})
        self.addCleanup(daemon.stop)
        self.connected(daemon)

    def test_what_no_address_is_stops_the_start(self):
        for url in ("broker", "mqtt://user:hush@broker", "http://broker"):
            daemon = Daemon(sets=["mqtt.enabled=true", f"mqtt.url={url}"], wait=False)
            self.assertEqual(daemon.process.wait(PATIENCE), 78)
            daemon.stop()
            self.assertIn("mqtt.url", "".join(daemon.lines))
            self.assertNotIn("hush", "".join(daemon.lines))


class Encrypted(Mqtt):
    def certificate(self, name, host, authority=None):
        """NAME.crt and NAME.key; signed by itself, or by that authority."""
        key, crt = self.folder / f"{name}.key", self.folder / f"{name}.crt"
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                   "-subj", f"/CN={name}", "-keyout", key, "-out", crt]
        if authority:
            command += ["-addext", f"subjectAltName={host}", "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key",
                        "-addext", "basicConstraints=critical,CA:FALSE"]
        subprocess.run(command, check=True, capture_output=True)
        return self.folder / name

    def encrypted_broker(self, host):
        authority = self.certificate("authority", None)
        server = self.certificate("server", host, authority)
        broker = self.broker("allow_anonymous true", f"cafile {authority}.crt", f"certfile {server}.crt",
                             f"keyfile {server}.key")
        return broker, f"{authority}.crt"

    def test_a_trusted_certificate_is_spoken_to(self):
        broker, authority = self.encrypted_broker("DNS:localhost")
        daemon = self.daemon(broker.port, f"mqtt.certificates={authority}", host="localhost", scheme="mqtts")
        self.connected(daemon)
        live = Listener(broker.port, "--cafile", authority, "--insecure")
        self.addCleanup(live.stop)
        live.wait("event/visit")

    def test_an_unknown_authority_or_another_name_is_not(self):
        broker, authority = self.encrypted_broker("DNS:elsewhere.example")
        other = self.certificate("other", None)
        for sets in ([f"mqtt.certificates={authority}"], [f"mqtt.certificates={other}.crt"], []):
            daemon = self.daemon(broker.port, *sets, host="localhost", scheme="mqtts")
            daemon.until(lambda: "not trusted" in self.status(daemon).get("detail", ""), "a refusal")
            daemon.stop()


if __name__ == "__main__":
    main()
