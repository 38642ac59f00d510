# SPDX-License-Identifier: Apache-2.0
"""MQTT and Home Assistant of several cameras with a real broker: the first speaks as ever, each further one below its name."""
import json
import os
import subprocess

from broker import until
from home_assistant import faults_of_device, state_of
from mqtt_case import QUICK, Mqtt
from support import KINGLETD, PATIENCE, Daemon, main

KINGLET = os.environ["KINGLET"]
FIRST, TREE = "kinglet/test/event/visit", "kinglet/test/tree/event/visit"
OURS = json.dumps({"node": "kinglet/test"})  # what a camera's figures say that this device is the author of


class Cameras(Mqtt):
    def settings(self, first="demo:"):
        """The scene, and beside it pictures of the same, which are no drawn ones for who reads them."""
        pictures = self.folder / "pictures"
        subprocess.run([KINGLET, "demo-frames", "--scene", "--count", "40", "--size", "320x180", "--out", pictures, "-q"],
                       check=True, timeout=PATIENCE)
        path = self.folder / "kinglet.toml"
        path.write_text(f'[[source]]\nspec = "{first}"\n[[source]]\nname = "tree"\nspec = "images:{pictures}?fps=2"\n')
        return str(path)

    def sets(self, broker, name="test", prefix="kinglet"):
        return [*(one for one in QUICK[1:] if not one.startswith("node.name=")), f"node.name={name}", f"mqtt.topic_prefix={prefix}",
                f"mqtt.url=mqtt://127.0.0.1:{broker.port}", "mqtt.pictures=true", f"store.path={self.folder}/{name}"]

    def kept(self, broker):
        """What the broker keeps, by topic."""
        broker.publish("marker", "1", "-r")
        late = self.listen(broker)
        late.wait("marker")
        return {message["topic"]: message["payload"] for message in late.messages if message["topic"] != "marker"}

    def alone(self):
        """A configuration with one camera."""
        path = self.folder / "alone.toml"
        path.write_text('[[source]]\nspec = "demo:"\n')
        return str(path)

    def test_each_camera_has_topics_and_components_of_its_own(self):
        log = self.folder / "broker.log"
        broker = self.broker("allow_anonymous true", "log_type all", f"log_dest file {log}")
        live = self.listen(broker)
        settings = self.settings()
        daemon = Daemon("--config", settings, sets=self.sets(broker))
        self.addCleanup(daemon.stop)
        ended = json.loads(live.wait(TREE, lambda payload: b'"visit.end"' in payload))
        self.assertEqual(ended["visit"]["source"], "tree")
        live.wait("kinglet/test/tree/state/visit", lambda payload: json.loads(payload)["id"] == ended["visit"]["id"])
        live.wait(FIRST, lambda payload: b'"visit.end"' in payload)
        self.assertEqual({one["visit"]["source"] for one in live.json_of(FIRST)}, {"demo"})
        self.assertEqual({one["visit"]["source"] for one in live.json_of(TREE)}, {"tree"})
        for place in ("kinglet/test/", "kinglet/test/tree/"):
            live.wait(place + "state/stats", lambda payload: json.loads(payload)["camera_state"] == "streaming")
            self.assertEqual(live.wait(place + "picture/last")[:2], b"\xff\xd8")
        device = json.loads(live.wait("homeassistant/device/kinglet_test/config"))
        self.assertEqual(faults_of_device(device), [])
        self.assertEqual(device["cmps"]["tree-visit"]["state_topic"], TREE)
        self.assertEqual(device["cmps"]["visit"]["state_topic"], FIRST)
        daemon.stop()
        until(lambda: json.loads(live.of("kinglet/test/tree/state/visit")[-1])["state"] == "ended", "the end of the last visit")
        # It hears of cameras that are gone, and not itself.
        heard = log.read_text(errors="replace")
        self.assertIn("Received PUBLISH from kinglet-test ", heard)
        self.assertNotIn("Sending PUBLISH to kinglet-test ", heard)
        command = [KINGLETD, "--config", settings, "--forget"]
        for one in self.sets(broker):
            command += ["--set", one]
        subprocess.run(command, check=True, timeout=PATIENCE)
        self.assertEqual(self.kept(broker), {})

    def test_what_is_kept_of_a_camera_that_is_gone_is_taken_back_and_nothing_else(self):
        broker = self.broker()
        # The last two are a device's whose prefix is "kinglet/test", and one's that is named as a camera could be.
        strangers = {"kinglet/other/tree/state/stats": OURS, "kinglet/test/tree/notes": OURS, "kinglet/test/Tree 2/state/stats": OURS,
                     "kinglet/test/pond/state/stats": '{"camera_state": "streaming"}',
                     "kinglet/test/shed/state/stats": '{"node": "kinglet/test/shed"}'}
        for topic, payload in strangers.items():
            broker.publish(topic, payload, "-r")
        live = self.listen(broker)
        with Daemon("--config", self.settings(), sets=self.sets(broker)):
            for name in ("state/visit", "state/stats", "picture/last"):
                live.wait("kinglet/test/tree/" + name)
        for start in ("first", "second"):
            before, heard = len(live.of("homeassistant/device/kinglet_test/config")), len(live.messages)
            with self.subTest(start), Daemon("--config", self.alone(), sets=self.sets(broker)) as daemon:
                # Of the first: as it is, and then with those that are to go.
                expected = before + (2 if start == "first" else 1)
                daemon.until(lambda: len(live.of("homeassistant/device/kinglet_test/config")) >= expected, "what the device is")
                live.wait("kinglet/test/state/visit", lambda payload: json.loads(payload)["state"] == "ended")
                if start == "first":
                    self.taken_back_in_order(live, heard)
                    # And once more, as after a connection that broke in the middle.
                    broker.publish("kinglet/test/tree/state/stats", OURS, "-r")
                    broker.publish("homeassistant/status", "online")
                    live.wait("kinglet/test/tree/state/stats", lambda payload: payload == b"", count=2)
            device = json.loads(live.of("homeassistant/device/kinglet_test/config")[-1])
            self.assertEqual(faults_of_device(device), [])
            gone = {key: entity for key, entity in device["cmps"].items() if key.startswith("tree-")}
            self.assertEqual(gone, {"tree-visit": {"p": "event"}, "tree-species": {"p": "sensor"}, "tree-score": {"p": "sensor"},
                                    "tree-present": {"p": "binary_sensor"}, "tree-camera_problem": {"p": "binary_sensor"},
                                    "tree-picture": {"p": "image"}} if start == "first" else {})
        kept = self.kept(broker)
        for topic, payload in strangers.items():
            self.assertEqual(kept.get(topic), payload.encode(), topic)
        self.assertEqual({topic for topic in kept if topic.startswith("kinglet/test/tree/")}, {"kinglet/test/tree/notes"})
        self.assertIn("kinglet/test/state/visit", kept)

    def taken_back_in_order(self, live, heard):
        """Home Assistant is told first, and the sign that there was a camera goes last."""
        def told():
            return [message["topic"] for message in live.messages[heard:]
                    if message["payload"] == b"" or b'"tree-visit":{"p":"event"}' in message["payload"]]
        until(lambda: len(told()) >= 4, "that it is taken back")
        self.assertEqual(told(), ["homeassistant/device/kinglet_test/config", "kinglet/test/tree/state/visit",
                                "kinglet/test/tree/picture/last", "kinglet/test/tree/state/stats"])

    def test_another_device_whose_prefix_is_below_our_name_keeps_its_own(self):
        broker = self.broker()
        live = self.listen(broker)
        with Daemon("--config", self.settings(), sets=self.sets(broker, name="pond", prefix="home/kinglet")):
            for name in ("state/visit", "state/stats", "picture/last", "tree/state/visit", "tree/state/stats", "tree/picture/last"):
                live.wait("home/kinglet/pond/" + name)
        before = self.kept(broker)
        broker.publish("home/kinglet/shed/state/stats", json.dumps({"node": "home/kinglet"}), "-r")
        with Daemon("--config", self.alone(), sets=self.sets(broker, name="kinglet", prefix="home")):
            live.wait("home/kinglet/shed/state/stats", lambda payload: payload == b"")
            live.wait("home/kinglet/state/visit", lambda payload: json.loads(payload)["state"] == "ended")
        after = self.kept(broker)
        self.assertEqual({topic: after.get(topic) for topic in before}, before)
        self.assertNotIn("home/kinglet/shed/state/stats", after)

    def test_the_switch_pauses_all_of_them_and_says_so_while_the_first_gives_no_frames(self):
        broker = self.broker()
        live = self.listen(broker)
        daemon = Daemon("--config", self.settings(first=f"images:{self.folder}/nothing"), wait=False,
                        sets=[*self.sets(broker), "mqtt.commands=true"])
        self.addCleanup(daemon.stop)
        switch = json.loads(live.wait("homeassistant/device/kinglet_test/config"))["cmps"]["pause"]
        live.wait("kinglet/test/tree/state/stats", lambda payload: json.loads(payload)["camera_state"] == "streaming")
        live.wait(switch["state_topic"])

        def newest(topic):
            return json.loads(live.of(topic)[-1])
        for command, tree in (("ON", "paused"), ("OFF", "streaming")):
            broker.publish(switch["command_topic"], command)
            daemon.until(lambda: state_of(switch, newest(switch["state_topic"])) == command, f"a switch that is {command}")
            self.assertNotIn(newest(switch["state_topic"])["camera_state"], ("streaming", "paused"))
            daemon.until(lambda: newest("kinglet/test/tree/state/stats")["camera_state"] == tree, f"a camera that is {tree}")


if __name__ == "__main__":
    main()
