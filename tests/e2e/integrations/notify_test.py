# SPDX-License-Identifier: Apache-2.0
"""Messages to a phone: each service against a stand-in that holds its documented form, what is wished and when, retries,
secrets, and what the page sets."""
import json
import re
import shutil
import signal
import stat
import subprocess
import time
import unittest
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import phone_services
from phone_case import Phone
from phone_services import MailServer
from support import NOON, SLOWER, bird_show, main

PUSHOVER_USER = "u" * 30


def send_now(daemon, owner, name="phone"):
    return daemon.ask("/api/v1/notify/test", "POST", json.dumps({"name": name}), {**owner, "Content-Type": "application/json"})


def is_pictured(message):
    """A message waits two seconds for its picture: on a busy machine not each has one."""
    return [picture[:2] for picture in message["pictures"]] == [b"\xff\xd8"]


class Services(Phone):
    """A real visit of the demonstration goes out with its picture, in the form of each service."""

    def visit_told(self, stand_in, /, pictured=True, **keys):
        daemon = self.daemon({"name": "phone", "server": stand_in.address, "at_most": 1000, **keys})
        told = stand_in.wait(matches=is_pictured if pictured else lambda message: True)[0]
        visits = daemon.ask("/api/v1/visits?limit=500").json()["items"]
        self.assertIn(told["title"], [visit.get("common_name", visit["species_id"]) for visit in visits])
        self.assertRegex(told["text"], r"\d+%")
        return told

    def test_ntfy(self):
        told = self.visit_told(self.service(phone_services.ntfy), to="birds", secret_file=str(self.secret("tk_secret")))
        self.assertRegex(told["link"], r"^http://feeder\.example/#visits/vis_\w+$")

    def test_telegram(self):
        told = self.visit_told(self.service(phone_services.telegram), service="telegram", to="-1234",
                               secret_file=str(self.secret("123:secret")))
        self.assertIn("http://feeder.example/#visits/vis_", told["text"])

    def test_gotify(self):
        told = self.visit_told(self.service(phone_services.gotify), pictured=False, service="template", preset="gotify",
                               secret_file=str(self.secret("app_secret")))
        self.assertRegex(told["picture_link"], r"^http://feeder\.example/api/v1/visits/vis_\w+/crop\.jpg$")

    def test_pushover(self):
        self.visit_told(self.service(phone_services.pushover), service="template", preset="pushover", to=PUSHOVER_USER,
                        secret_file=str(self.secret("app_secret")))

    def test_discord(self):
        secret = self.secret("https://discord.com/api/webhooks/12345/hook_secret")
        self.visit_told(self.service(phone_services.discord), service="template", preset="discord", secret_file=str(secret))

    def test_a_template_of_ones_own(self):
        service = self.service(phone_services.own)
        service.address += "/hook"
        self.visit_told(service, service="template", secret_file=str(self.secret("own secret")), headers=["X-Key: {secret}"],
                        body='{"title": "{title}", "text": "{text}", "picture": "{picture_base64}"}')


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class Mail(Phone):
    def server(self, address="127.0.0.1", **named):
        self.certificate, key = self.folder / "mail.pem", self.folder / "mail.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=mail.example", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out",
                        self.certificate], check=True, capture_output=True)
        server = MailServer(self.certificate, key, address, **named)
        self.addCleanup(server.stop)
        return server

    def table(self, server, **keys):
        return {"name": "phone", "service": "mail", "to": "you@mail.example", "server": "smtp://%s:%d" % server.address,
                "username": "feeder@mail.example", "secret_file": str(self.secret("mail secret")),
                "certificates": str(self.certificate), **keys}

    def test_a_mail_goes_encrypted_and_has_the_picture(self):
        server = self.server()
        daemon = self.daemon(self.table(server, at_most=1000))
        pictured = lambda: [mail for mail in list(server.mails) if mail["letter"].is_multipart()]
        mail = daemon.until(pictured, "a mail with a picture")[0]
        self.assertEqual((mail["encrypted"], mail["user"], mail["from"], mail["to"]),
                         (True, "feeder@mail.example", "feeder@mail.example", ["you@mail.example"]))
        letter = mail["letter"]
        self.assertEqual(letter.defects, [])
        self.assertEqual(letter["to"].addresses[0].addr_spec, "you@mail.example")
        self.assertLess(abs(letter["date"].datetime.timestamp() - time.time()), 1000)
        words, picture = letter.iter_parts()
        self.assertRegex(words.get_content(), r"\d+%\n\nhttp://feeder\.example/")
        self.assertEqual((picture.get_content_type(), picture.get_filename(), picture.get_content()[:2]),
                         ("image/jpeg", "bird1.jpg", b"\xff\xd8"))
        self.assertEqual(server.refusals, [])

    def test_a_wrong_password_is_a_refusal(self):
        server = self.server()
        daemon = self.daemon({**self.table(server), "secret_file": str(self.secret("wrong", "other"))})
        owner = daemon.claim()
        state = daemon.until(lambda: (one := self.state(daemon, owner))["dropped_total"] and one, "a refusal")
        self.assertIn("detail", state)
        self.assertEqual(server.mails, [])

    def test_a_certificate_that_nobody_trusts_is_not_spoken_to(self):
        server = self.server()
        daemon = self.daemon({**self.table(server), "certificates": ""})
        reply = send_now(daemon, daemon.claim())
        self.assert_problem(reply, 502, "not-delivered")
        self.assertEqual((server.mails, server.refusals), ([], []))

    def test_a_server_elsewhere_that_offers_no_encryption_is_told_no_password(self):
        server = self.server("127.0.0.2", tls=False)
        daemon = self.daemon(self.table(server))
        self.assert_problem(send_now(daemon, daemon.claim()), 502, "not-delivered")
        self.assertEqual((server.mails, server.refusals), ([], []))


class Wished(Phone):
    def test_only_the_first_of_the_day_of_each_species(self):
        service = self.service(phone_services.ntfy)
        daemon = self.daemon(self.ntfy(service, only=["first_today"]), sets=["visits.first_days=0"])
        daemon.until(lambda: len([one for one in daemon.ask("/api/v1/visits?limit=100").json()["items"]]) >= 6, "visits")
        titles = [message["title"] for message in service.wait()]
        self.assertEqual(len(titles), len(set(titles)))
        self.assertTrue(all("the first ever" in message["text"] for message in service.messages), service.messages)

    def test_in_the_first_days_no_bird_is_called_the_first_of_the_season(self):
        service, first = self.service(phone_services.ntfy), self.service(phone_services.ntfy)
        self.daemon(self.ntfy(service, at_most=1000), self.ntfy(first, name="first", only=["first_season"]))
        service.wait(3)
        self.assertEqual([message["text"] for message in service.messages if "of the season" in message["text"]], [])
        self.assertEqual(first.messages, [])

    def test_only_some_birds(self):
        service = self.service(phone_services.ntfy)
        daemon = self.daemon(self.ntfy(service, species=["plain-demothrush"], events=["visit.end"]))
        service.wait(2)
        self.assertEqual(len({message["title"] for message in service.messages}), 1)
        self.assertIn("was here for", service.messages[0]["text"])
        daemon.stop()

    def test_nothing_in_quiet_hours_and_not_more_than_wished(self):
        quiet, busy = self.service(phone_services.ntfy), self.service(phone_services.ntfy)
        daemon = self.daemon(self.ntfy(quiet, quiet="09:00-16:00"), self.ntfy(busy, name="other", at_most=1))
        owner = daemon.claim()
        daemon.until(lambda: self.state(daemon, owner)["held_back_total"] >= 2, "quiet")
        daemon.until(lambda: self.state(daemon, owner, "other")["held_back_total"] >= 2, "enough")
        busy.wait()
        self.assertEqual((quiet.requests, len(busy.messages)), (0, 1))
        held_back = re.search(r'kinglet_notify_messages_total\{outcome="held_back"\} (\d+)', daemon.ask("/metrics").body.decode())
        self.assertGreaterEqual(int(held_back[1]), 4)

    def test_the_digest_says_who_was_here_with_pictures(self):
        service = self.service(phone_services.telegram)
        table = {"name": "phone", "service": "telegram", "to": "1", "server": service.address, "events": [],
                 "secret_file": str(self.secret("123:secret"))}
        daemon = self.daemon(table)
        pictured = lambda: {one["species_id"] for one in daemon.ask("/api/v1/visits").json()["items"] if "snapshot" in one["links"]}
        daemon.until(lambda: len(pictured()) >= 2, "pictures of two species")
        now = lambda: datetime.now(ZoneInfo(NOON))
        for _ in range(3):  # for the case that the minute comes before the daemon has heard of it
            at = now() + timedelta(minutes=1)
            self.tables({**table, "digest": f"{at:%H:%M}"})
            daemon.process.send_signal(signal.SIGHUP)
            daemon.until(lambda: service.messages or service.refusals or now() > at + timedelta(seconds=20), "that time")
            if service.messages or service.refusals:
                break
        told = service.wait()
        self.assertRegex(told[0]["title"], r"^The last 24 hours: \d+ visits of \d+ species$")
        self.assertGreaterEqual(len(told[0]["pictures"]), 2)
        daemon.stop()

    def test_messages_speak_the_language_that_is_set(self):
        service = self.service(phone_services.ntfy)
        labels = self.folder / "labels.txt"
        labels.write_text("Passer domesticus (House Sparrow)\n" * 8 + "background\n")  # all drawn birds are sparrows
        show, made = self.folder / "show", self.folder / "made"
        daemon = self.daemon(self.ntfy(service, at_most=1000), sets=["visits.first_days=0", f"model.labels={labels}",
                                                                     f"source=images:{show}?fps=30"])
        owner = daemon.claim()

        def of(title):
            return daemon.until(lambda: next((one for one in service.messages if one["title"] == title), None), title)
        # Nobody is told of a bird that came before it was known who is to be.
        daemon.until(lambda: send_now(daemon, owner).status == 200, "a service that is known")
        shutil.copytree(bird_show()[0].split(":")[1].split("?")[0], made)
        made.rename(show)
        self.assertIn("the first ever", of("House Sparrow")["text"])
        patch = {**owner, "If-Match": "*", "Content-Type": "application/merge-patch+json"}
        self.assertEqual(daemon.ask("/api/v1/config", "PATCH", '{"node.language": "de"}', patch).status, 200)
        self.assertEqual(send_now(daemon, owner).status, 200)
        self.assertEqual(of("Eine Nachricht von kinglet")["text"], "Von Hand gesendet: So kommen auch die anderen.")
        self.assertRegex(of("Haussperling")["text"], r"(^|· )\d+\u00a0%$")
        self.assertEqual(service.refusals, [])

    def test_a_camera_in_trouble_is_told(self):
        service = self.service(phone_services.ntfy)
        self.daemon(self.ntfy(service, events=["camera", "disk"]), sets=["source=images:/nowhere"])
        told = service.wait()[0]
        self.assertEqual(told["title"], "The camera gives no picture")
        self.assertIn("/nowhere", told["text"])


class NotTaken(Phone):
    def test_it_is_tried_again(self):
        service = self.service(phone_services.ntfy, fails=2)
        daemon = self.daemon(self.ntfy(service, at_most=1))  # a second one would hide that the first was lost
        owner = daemon.claim()
        service.wait()
        self.assertEqual(service.requests, 3)
        daemon.until(lambda: self.state(daemon, owner)["sent_total"] >= 1, "sent")
        self.assertEqual(self.state(daemon, owner)["failed_tries_total"], 2)
        daemon.says("notify phone: it answers 503")
        daemon.says("notify phone: messages are taken again")

    def test_a_redirection_is_not_followed_and_the_reason_is_shown(self):
        other = self.service(phone_services.ntfy)
        service = self.service(phone_services.ntfy, status=302, headers={"Location": other.address + "/birds"})
        daemon = self.daemon(self.ntfy(service))
        owner = daemon.claim()
        state = daemon.until(lambda: (one := self.state(daemon, owner))["dropped_total"] and one, "a refusal")
        self.assertEqual(state["detail"], "it answers 302")
        self.assertEqual(other.requests, 0)
        ready = daemon.ask("/readyz")
        self.assertEqual((ready.status, ready.json()["checks"]["notify"]["status"]), (200, "warn"))

    def test_what_each_service_says_of_why_is_told(self):
        tables = {
            phone_services.ntfy: ({"to": "birds"}, "tk_wrong", "it answers 401: no access"),
            phone_services.telegram: ({"service": "telegram", "to": "-1234"}, "123:wrong_token", "it answers 401: Unauthorized"),
            phone_services.gotify: ({"preset": "gotify"}, "wrong", "it answers 401: you need to provide a valid access token"),
            phone_services.pushover: ({"preset": "pushover", "to": PUSHOVER_USER}, "wrong", "it answers 400: application token is invalid"),
            phone_services.discord: ({"preset": "discord"}, "https://discord.com/api/webhooks/12345/wrong", "it answers 404: Unknown Webhook"),
            phone_services.own: ({"headers": ["X-Key: {secret}"], "body": "{}"}, "wrong", "it answers 401: no access"),
        }
        names = {}
        for form, (keys, secret, told) in tables.items():
            name = form.__name__
            names[name] = told
            tables[form] = {"name": name, "server": self.service(form).address, "service": "template" if "to" not in keys or "preset" in keys
                            else "ntfy", "secret_file": str(self.secret(secret, name)), "events": [], **keys}
        daemon = self.daemon(*tables.values())
        owner = daemon.claim()
        for name, told in names.items():
            with self.subTest(name):
                self.assertEqual(self.assert_problem(send_now(daemon, owner, name), 502, "not-delivered")["detail"], told)

    def test_a_service_that_repeats_the_secret_is_not_repeated(self):
        answer = json.dumps({"error": "Bearer tk_secret may not write to birds_7f3a91c4 \u0007" + "x" * 500}).encode()
        service = self.service(phone_services.ntfy, status=403, answer=answer)
        daemon = self.daemon({**self.ntfy(service), "to": "birds_7f3a91c4", "events": []})
        detail = self.assert_problem(send_now(daemon, daemon.claim()), 502, "not-delivered")["detail"]
        self.assertRegex(detail, r"^it answers 403: Bearer \*\*\* may not write to \*\*\* .x+")
        self.assertTrue(detail.isprintable())
        self.assertLess(len(detail), 240)
        self.assertNotRegex("\n".join(daemon.lines) + daemon.ask("/readyz").body.decode(), "tk_secret|birds_7f3a91c4")

    def test_a_secret_that_others_may_read_is_not_used(self):
        service = self.service(phone_services.ntfy)
        daemon = self.daemon({**self.ntfy(service), "secret_file": str(self.secret("tk_secret", "open", 0o644))})
        reply = send_now(daemon, daemon.claim())
        self.assertIn("may be read by others", self.assert_problem(reply, 502, "not-delivered")["detail"])
        self.assertEqual(service.requests, 0)

    def test_one_that_stalls_holds_up_neither_the_pipeline_nor_the_end(self):
        service = self.service(lambda *_: time.sleep(60))
        daemon = self.daemon(self.ntfy(service))
        daemon.until(lambda: service.requests, "a request")
        daemon.goes_on_and_ends(5 * SLOWER)


class OnThePage(Phone):
    def setUp(self):
        super().setUp()
        self.state_folder = self.folder / "state"
        self.running = self.start()
        self.owner = self.running.claim()

    def start(self):
        return self.daemon({"name": "mine", "to": "birds"}, sets=["source=demo:", "gate.max_fps=5"])

    def put(self, name, wish, headers=None):
        return self.running.ask("/api/v1/notify/" + name, "PUT", json.dumps(wish),
                                {**(self.owner if headers is None else headers), "Content-Type": "application/json"})

    def names(self):
        return [one["name"] for one in self.running.ask("/api/v1/notify", headers=self.owner).json()["items"]]

    def test_a_service_is_set_kept_and_its_secret_never_shown(self):
        reply = self.put("phone", {"service": "telegram", "to": "1", "secret": "123:very-secret", "only": ["first_ever"]})
        self.assertEqual((reply.status, reply.json()["secret"], reply.json()["only"]), (200, True, ["first_ever"]))
        reply = self.put("phone", {"service": "telegram", "to": "2"})
        self.assertEqual((reply.status, reply.json()["secret"], reply.json()["to"]), (200, True, "2"), "the secret stays")
        self.running.stop()
        said = self.running.lines
        self.running = self.start()
        listed = self.running.ask("/api/v1/notify", headers=self.owner)
        self.assertEqual([(one["name"], one["source"].split("/")[-1].split(":")[0]) for one in listed.json()["items"]],
                         [("mine", "kinglet.toml"), ("phone", "page")])
        self.assertNotIn(b"very-secret", listed.body + self.running.ask("/api/v1/config", headers=self.owner).body)
        self.running.stop()
        self.assertNotIn("very-secret", "".join(said + self.running.lines))
        kept = [self.state_folder / "notify.toml", self.state_folder / "notify-secrets" / "phone.telegram"]
        self.assertEqual([stat.S_IMODE(path.stat().st_mode) for path in kept], [0o600, 0o600])
        self.assertEqual(stat.S_IMODE(kept[1].parent.stat().st_mode), 0o700)
        self.assertNotIn("very-secret", kept[0].read_text())

    def test_a_file_of_services_that_cannot_be_used_is_set_aside_and_told_where_the_page_shows_trouble(self):
        self.running.stop()
        (self.state_folder / "notify.toml").write_text('[[notify]]\nname = "phone"\nof_the_next_version = 1\n')
        self.running = self.start()
        self.assertIn("notify.toml.damaged", self.running.ask("/api/v1/config", headers=self.owner).json()["trouble"])
        self.assertEqual((self.put("phone", {"service": "ntfy", "to": "birds"}).status, self.names()), (200, ["mine", "phone"]))
        self.assertNotIn("trouble", self.running.ask("/api/v1/config", headers=self.owner).json())
        self.assertIn("of_the_next_version", (self.state_folder / "notify.toml.damaged").read_text())

    def test_a_secret_is_not_handed_to_another_service(self):
        self.assertEqual(self.put("phone", {"service": "telegram", "to": "1", "secret": "123:very-secret"}).status, 200)
        problem = self.assert_problem(self.put("phone", {"service": "template", "preset": "discord"}), 422, "bad-setting")
        self.assertIn("secret", problem["detail"])
        self.assertEqual(self.put("phone", {"service": "ntfy", "to": "birds"}).json()["secret"], False)
        self.assertEqual(list((self.state_folder / "notify-secrets").iterdir()), [])

    def test_ones_own_servers_stay_in_the_file(self):
        for wish in ({"service": "ntfy", "to": "birds", "server": "http://127.0.0.1"}, {"service": "mail", "to": "a@b.example"},
                     {"service": "template", "preset": "gotify", "secret": "x"}, {"service": "template", "body": "x"},
                     {"service": "ntfy", "to": "birds", "secret_file": "/etc/shadow"},
                     {"service": "ntfy", "to": "birds", "certificates": "/etc/shadow"}):
            problem = self.assert_problem(self.put("phone", wish), 422, "bad-setting")
            self.assertIn("cannot be set over HTTP", problem["detail"])
        self.assertEqual(self.names(), ["mine"])

    def test_what_the_file_says_is_changed_there(self):
        for reply in (self.put("mine", {"service": "ntfy", "to": "other"}),
                      self.running.ask("/api/v1/notify/mine", "DELETE", headers=self.owner)):
            self.assertIn("kinglet.toml", self.assert_problem(reply, 409, "set-in-file")["detail"])

    def test_what_cannot_be_is_refused_and_nothing_is_kept(self):
        for name, wish in (("phone", {"to": "no topic"}), ("phone", {"to": "a", "only": ["never"]}), ("phone", {"to": "a", "nonsense": 1}),
                           ("phone", {"to": "a", "quiet": "late"}), ("phone", {"to": "a", "at_most": 0}), ("Phone", {"to": "a"}),
                           ("phone", {"to": "a\"\nserver = \"x"}), ("phone", {"to": "a", "x\"\n[[notify]]\nname": "b"}),
                           ("phone", {"service": "telegram", "to": "1"})):
            with self.subTest(wish=wish):
                self.assert_problem(self.put(name, wish), 422, "bad-setting")
        for wish in ([], "x", {"name": "a"}, {"to": "a", "secret": 1}):
            with self.subTest(wish=wish):
                self.assert_problem(self.put("phone", wish), 400, "bad-json")
        self.assert_problem(self.running.ask("/api/v1/notify/phone", "PUT", "{}", self.owner), 415, "unsupported-media-type")
        self.assertEqual(self.names(), ["mine"])

    def test_it_is_removed_with_its_secret(self):
        self.put("phone", {"service": "ntfy", "to": "birds", "secret": "tk_1"})
        self.assertEqual(self.running.ask("/api/v1/notify/phone", "DELETE", headers=self.owner).status, 204)
        self.assertEqual((self.names(), list((self.state_folder / "notify-secrets").iterdir())), (["mine"], []))
        self.assert_problem(self.running.ask("/api/v1/notify/phone", "DELETE", headers=self.owner), 404, "not-found")
        self.assert_problem(send_now(self.running, self.owner), 404, "not-found")

    def test_one_is_sent_now(self):
        service = self.service(phone_services.ntfy)
        file = self.tables(self.ntfy(service, name="mine"))
        self.assertTrue(file.exists())
        self.running.process.send_signal(signal.SIGHUP)
        self.running.until(lambda: send_now(self.running, self.owner, "mine").status == 200, "it is taken")
        service.wait(matches=lambda message: message["title"] == "A message of kinglet")


if __name__ == "__main__":
    main()
