# SPDX-License-Identifier: Apache-2.0
"""MQTT and Home Assistant of several cameras with a real broker: the first speaks as ever, each further one below its name."""
import json
import os
import subprocess

from home_assistant import faults_of_device, state_of
from mqtt_case import QUICK, Mqtt
from support import KINGLETD, PATIENCE, Daemon, main

KINGLET = os.environ["KINGLET"]
FIRST, TREE = "kinglet/test/event/visit", "kinglet/test/tree/event/visit"


class Cameras(Mqtt):
    def settings(self, first="demo:"):
        """The scene, and beside it pictures of the same, which are no drawn ones for who reads them."""
        pictures = self.folder / "pictures"
        subprocess.run([KINGLET, "demo-frames", "--scene", "--count", "40", "--size", "320x180", "--out", pictures, "-q"],
                       check=True, timeout=PATIENCE)
        path = self.folder / "kinglet.toml"
        path.write_text(f'[[source]]\nspec = "{first}"\n[[source]]\nname = "tree"\nspec = "images:{pictures}?fps=2"\n')
        return str(path)

    def sets(self, broker):
        return [*QUICK[1:], f"mqtt.url=mqtt://127.0.0.1:{broker.port}", "mqtt.pictures=true", f"store.path={self.folder}/state"]

    def test_each_camera_has_topics_and_components_of_its_own(self):
        broker = self.broker()
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
        self.assertEqual(json.loads(live.of("kinglet/test/tree/state/visit")[-1])["state"], "ended")
        command = [KINGLETD, "--config", settings, "--forget"]
        for one in self.sets(broker):
            command += ["--set", one]
        subprocess.run(command, check=True, timeout=PATIENCE)
        broker.publish("marker", "1", "-r")
        late = self.listen(broker)
        late.wait("marker")
        self.assertEqual([message["topic"] for message in late.messages], ["marker"])

    def test_what_is_kept_of_a_camera_that_is_gone_is_taken_back_and_nothing_else(self):
        broker = self.broker()
        strangers = ("kinglet/other/tree/state/stats", "kinglet/test/tree/notes", "kinglet/test/Tree 2/state/stats")
        for topic in strangers:
            broker.publish(topic, "{}", "-r")
        live = self.listen(broker)
        with Daemon("--config", self.settings(), sets=self.sets(broker)):
            for name in ("state/visit", "state/stats", "picture/last"):
                live.wait("kinglet/test/tree/" + name)
        alone = self.folder / "alone.toml"
        alone.write_text('[[source]]\nspec = "demo:"\n')
        for start in ("first", "second"):
            before = len(live.of("homeassistant/device/kinglet_test/config"))
            with self.subTest(start), Daemon("--config", str(alone), sets=self.sets(broker)) as daemon:
                # Of the first: as it is, and then with those that are to go.
                expected = before + (2 if start == "first" else 1)
                daemon.until(lambda: len(live.of("homeassistant/device/kinglet_test/config")) >= expected, "what the device is")
                live.wait("kinglet/test/state/visit", lambda payload: json.loads(payload)["state"] == "ended")
            device = json.loads(live.of("homeassistant/device/kinglet_test/config")[-1])
            self.assertEqual(faults_of_device(device), [])
            gone = {key: entity for key, entity in device["cmps"].items() if key.startswith("tree-")}
            self.assertEqual(gone, {"tree-visit": {"p": "event"}, "tree-species": {"p": "sensor"}, "tree-score": {"p": "sensor"},
                                    "tree-present": {"p": "binary_sensor"}, "tree-camera_problem": {"p": "binary_sensor"},
                                    "tree-picture": {"p": "image"}} if start == "first" else {})
        broker.publish("marker", "1", "-r")
        late = self.listen(broker)
        late.wait("marker")
        topics = {message["topic"] for message in late.messages}
        self.assertLessEqual(set(strangers), topics)
        self.assertEqual({topic for topic in topics if topic.startswith("kinglet/test/tree/")}, {"kinglet/test/tree/notes"})
        self.assertIn("kinglet/test/state/visit", topics)

    def test_the_switch_pauses_all_of_them_and_says_so_while_the_first_gives_no_frames(self):
        broker = self.broker()
        live = self.listen(broker)
        daemon = Daemon("--config", self.settings(first=f"images:{self.folder}/nothing"), wait=False,
                        sets=[*self.sets(broker), "mqtt.commands=true"])
        self.addCleanup(daemon.stop)
        switch = json.loads(live.wait("homeassistant/device/kinglet_test/config"))["cmps"]["pause"]
        live.wait("kinglet/test/tree/state/stats", lambda payload: json.loads(payload)["camera_state"] == "streaming")

        def newest(topic):
            return json.loads(live.of(topic)[-1])
        for command, tree in (("ON", "paused"), ("OFF", "streaming")):
            broker.publish(switch["command_topic"], command)
            daemon.until(lambda: state_of(switch, newest(switch["state_topic"])) == command, f"a switch that is {command}")
            self.assertNotIn(newest(switch["state_topic"])["camera_state"], ("streaming", "paused"))
            daemon.until(lambda: newest("kinglet/test/tree/state/stats")["camera_state"] == tree, f"a camera that is {tree}")


if __name__ == "__main__":
    main()
