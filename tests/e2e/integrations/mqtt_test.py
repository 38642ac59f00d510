# SPDX-License-Identifier: Apache-2.0
"""MQTT and Home Assistant with a real broker: what it is told and what it may command."""
import json
import signal
import subprocess
import unittest

from broker import free_port, until
from home_assistant import faults_of_device, state_of
from mqtt_case import Mqtt
from support import KINGLETD, PATIENCE, SLOWER, SOURCE_DIR, main, picture_within


class Told(Mqtt):
    def test_everything_of_the_contract_is_said_and_what_is_kept_is_kept(self):
        broker = self.broker()
        live = self.listen(broker)
        daemon = self.daemon(broker.port, f"store.path={self.folder}")
        self.assertEqual(live.wait("kinglet/test/status"), b"online")
        started = json.loads(live.wait("event/visit", lambda p: b'"visit.start"' in p))
        ended = json.loads(live.wait("event/visit", lambda p: b'"visit.end"' in p and started["visit"]["id"].encode() in p))
        self.assertLess(started["seq"], ended["seq"])
        self.assertEqual((started["visit"]["state"], ended["visit"]["state"]), ("open", "ended"))
        live.wait("state/visit", lambda p: json.loads(p) == ended["visit"])
        today = json.loads(live.wait("state/today", lambda p: json.loads(p)["visits"] > 0))
        self.assertEqual(today["species_count"], len(today["species"]))
        self.assertEqual(today["visits"], sum(one["visits"] for one in today["species"]))
        live.wait("state/stats", lambda p: json.loads(p)["camera_state"] == "streaming")
        self.assertEqual(faults_of_device(json.loads(live.wait("homeassistant/device/kinglet_test/config"))), [])
        self.assertEqual(self.metric(daemon, "kinglet_mqtt_up"), 1)
        daemon.until(lambda: self.status(daemon)["sent_total"] >= 2, "acknowledged events")
        # Who comes later finds what is kept, and no events of before.
        late = self.listen(broker)
        for topic in ("test/status", "state/visit", "state/today", "state/stats", "kinglet_test/config"):
            late.wait(topic)
        kept = {message["topic"].removeprefix("kinglet/test/") for message in late.messages if message["retain"]}
        self.assertEqual(kept, {"status", "state/visit", "state/today", "state/stats",
                                "homeassistant/device/kinglet_test/config"})

    def test_home_assistant_reads_what_is_meant(self):
        broker = self.broker()
        live = self.listen(broker)
        self.daemon(broker.port, "mqtt.commands=true", f"store.path={self.folder}")
        entities = json.loads(live.wait("kinglet_test/config"))["cmps"]
        ended = json.loads(live.wait("event/visit", lambda p: b'"visit.end"' in p))
        live.wait("state/visit", lambda p: json.loads(p) == ended["visit"])
        live.wait("state/today", lambda p: json.loads(p)["visits"] > 0)
        broker.publish("kinglet/test/command/pause", "ON")
        stats = json.loads(live.wait("state/stats", lambda p: json.loads(p)["camera_state"] == "paused"))
        newest = {entity["state_topic"]: json.loads(live.of(entity["state_topic"])[-1]) for entity in entities.values()}
        newest["kinglet/test/event/visit"], newest["kinglet/test/state/stats"] = ended, stats
        states = {key: state_of(entity, newest[entity["state_topic"]]) for key, entity in entities.items()}
        told = json.loads(states.pop("visit"))
        self.assertEqual((told["event_type"], told["id"], told["species_id"]),
                         ("visit.end", ended["visit"]["id"], ended["visit"]["species_id"]))
        self.assertEqual(state_of(entities["visit"], {**ended, "type": "visit.update"}), "")
        for key, state in states.items():
            with self.subTest(entity=key, state=state):
                if "state_class" in entities[key]:
                    float(state)
                elif entities[key]["p"] in ("binary_sensor", "switch"):
                    self.assertIn(state, ("ON", "OFF"))
                else:
                    self.assertRegex(state, r"^\S.+$")
        # What a message may leave out is unknown, not a fault.
        self.assertEqual(state_of(entities["latency"], {"camera_state": "absent"}), "None")

    def test_what_a_person_says_of_the_last_visit_is_told(self):
        broker = self.broker()
        live = self.listen(broker)
        daemon = self.daemon(broker.port, f"store.path={self.folder}", "mqtt.commands=true")
        owner = daemon.claim()
        live.wait("event/visit", lambda p: b'"visit.end"' in p, count=2)
        broker.publish("kinglet/test/command/pause", "ON")  # no further visit comes in between
        live.wait("state/stats", lambda p: json.loads(p)["camera_state"] == "paused")

        def ended():
            items = daemon.ask("/api/v1/visits").json()["items"]
            return items if all(visit["state"] == "ended" for visit in items) else None
        last, before = daemon.until(ended, "the end of all visits")[:2]
        live.wait("state/visit", lambda p: json.loads(p)["id"] == last["id"] and json.loads(p)["state"] == "ended")
        species = [one["species_id"] for one in daemon.ask("/api/v1/model/labels").json()["items"]
                   if one["role"] == "species" and one["species_id"] != last["species_id"]][0]
        review = json.dumps({"review": {"verdict": "corrected", "species_id": species}})
        headers = {**owner, "If-Match": "*", "Content-Type": "application/json"}
        self.assertEqual(daemon.ask(before["links"]["self"], "PATCH", review, headers).status, 200)
        self.assertEqual(daemon.ask(last["links"]["self"], "PATCH", review, headers).status, 200)
        told = json.loads(live.wait("state/visit", lambda p: json.loads(p)["species_id"] == species))
        self.assertEqual((told["id"], told["review"]["verdict"]), (last["id"], "corrected"))
        self.assertEqual(daemon.ask(last["links"]["self"], "DELETE", headers=owner).status, 204)
        live.wait("state/visit", lambda p: json.loads(p)["id"] == before["id"] and json.loads(p)["species_id"] == species)

    def test_a_clean_end_and_a_violent_one_leave_it_offline(self):
        broker = self.broker()
        for number in (signal.SIGTERM, signal.SIGKILL):
            daemon = self.daemon(broker.port)
            self.connected(daemon)
            live = self.listen(broker)
            live.wait("test/status", lambda p: p == b"online")
            daemon.stop(number)
            live.wait("test/status", lambda p: p == b"offline")
            # Who comes later learns it, too.
            self.assertEqual(self.listen(broker).wait("test/status"), b"offline")

    def test_home_assistant_is_told_again_when_it_starts(self):
        broker = self.broker()
        live = self.listen(broker)
        self.connected(self.daemon(broker.port))
        live.wait("kinglet_test/config")
        broker.publish("homeassistant/status", "online")
        live.wait("kinglet_test/config", count=2)
        live.wait("test/status", lambda p: p == b"online", count=2)

    def test_pictures_come_when_they_are_wished(self):
        broker = self.broker()
        live = self.listen(broker)
        self.daemon(broker.port, "mqtt.pictures=true", f"store.path={self.folder}")
        picture = live.wait("picture/last")
        self.assertTrue(picture.startswith(b"\xff\xd8") and picture.endswith(b"\xff\xd9"))
        self.assertIn("picture", json.loads(live.wait("kinglet_test/config"))["cmps"])

    def test_the_first_picture_of_a_visit_is_there_with_its_start_or_within_a_second(self):
        broker = self.broker()
        live = self.listen(broker)
        self.daemon(broker.port, "mqtt.pictures=true", f"store.path={self.folder}")
        _, told = until(lambda: picture_within(live.json_of("event/visit"), SLOWER), "a picture within a second")
        visit = told["visit"]["id"].encode()
        live.wait("event/visit", lambda p: visit in p and b'"visit.end"' in p)
        order = []
        for message in live.messages:
            if message["topic"].endswith("picture/last"):
                order.append("jpeg")
            elif message["topic"].endswith("event/visit") and visit in message["payload"]:
                order.append(json.loads(message["payload"])["type"])
        self.assertIn("jpeg", order[order.index(told["type"]):order.index("visit.end")])

    def forget(self, port):
        empty = self.folder / "empty.toml"
        empty.write_text("")
        return subprocess.run([KINGLETD, "--config", empty, "--forget", "--set", "node.name=test", "--set",
                               "mqtt.enabled=true", "--set", f"mqtt.url=mqtt://127.0.0.1:{port}"],
                              capture_output=True, timeout=PATIENCE)

    def test_forget_takes_back_all_that_is_kept(self):
        broker = self.broker()
        daemon = self.daemon(broker.port, "mqtt.pictures=true", f"store.path={self.folder}")
        live = self.listen(broker)
        live.wait("picture/last")
        daemon.stop()
        told = self.forget(broker.port)
        self.assertEqual((told.returncode, told.stderr), (0, b""))
        broker.publish("marker", "1", "-r")
        late = self.listen(broker)
        late.wait("marker")
        self.assertEqual([message["topic"] for message in late.messages], ["marker"])

    def test_forget_says_when_nobody_is_there(self):
        told = self.forget(free_port())
        self.assertEqual(told.returncode, 69)
        self.assertIn(b"Connection refused", told.stderr)


class Discovery(unittest.TestCase):
    def test_the_golden_message_is_what_home_assistant_requires(self):
        message = json.loads((SOURCE_DIR / "tests/golden/mqtt/discovery.json").read_text())
        self.assertEqual(faults_of_device(message), [])
        self.assertEqual({entity["p"] for entity in message["cmps"].values()},
                         {"event", "sensor", "binary_sensor", "image", "switch"})

    def test_what_it_would_refuse_is_found(self):
        def faults_with(change):
            message = json.loads((SOURCE_DIR / "tests/golden/mqtt/discovery.json").read_text())
            change(message)
            return faults_of_device(message)
        self.assertEqual(faults_with(lambda message: message.pop("o")), ["origin is missing"])
        self.assertEqual(faults_with(lambda message: message["cmps"]["visit"].pop("event_types")),
                         ["visit: event_types is missing"])
        self.assertEqual(faults_with(lambda message: message["cmps"]["latency"].update(unit_of_measurement="img/s")),
                         ["latency: unit img/s of duration"])
        self.assertEqual(faults_with(lambda message: message["cmps"]["score"].update(unique_id="kinglet_feeder_latency")),
                         ["unique_id is not unique"])


class Commands(Mqtt):
    def paused(self, daemon):
        return daemon.ask("/api/v1/stats").json()["camera"]["state"] == "paused"

    def test_pause_and_resume_and_nothing_else(self):
        broker = self.broker()
        live = self.listen(broker)
        daemon = self.daemon(broker.port, "mqtt.commands=true")
        self.connected(daemon)
        daemon.first_prediction()
        self.assertIn("pause", json.loads(live.wait("kinglet_test/config"))["cmps"])
        broker.publish("kinglet/test/command/pause", "ON")
        daemon.until(lambda: self.paused(daemon), "a pause")
        live.wait("state/stats", lambda p: json.loads(p)["camera_state"] == "paused")
        for payload in ("off", "", "OFF ", "ON\nOFF", "x" * 5000):
            broker.publish("kinglet/test/command/pause", payload)
        broker.publish("kinglet/test/command/resume", "OFF")
        daemon.says("is left alone")
        self.assertTrue(self.paused(daemon))
        broker.publish("kinglet/test/command/pause", "OFF")
        daemon.until(lambda: not self.paused(daemon), "looking again")

    def test_a_command_that_was_kept_does_not_act(self):
        broker = self.broker()
        broker.publish("kinglet/test/command/pause", "ON", "-r")
        daemon = self.daemon(broker.port, "mqtt.commands=true")
        daemon.says('"ON", retained, is left alone')
        self.assertFalse(self.paused(daemon))

    def test_without_permission_nobody_listens(self):
        broker = self.broker()
        live = self.listen(broker)
        daemon = self.daemon(broker.port)
        self.connected(daemon)
        broker.publish("kinglet/test/command/pause", "ON")
        live.wait("command/pause")
        live.wait("event/visit", count=len(live.of("event/visit")) + 1)
        self.assertFalse(self.paused(daemon))
        self.assertNotIn("pause", json.loads(live.wait("kinglet_test/config"))["cmps"])


if __name__ == "__main__":
    main()
