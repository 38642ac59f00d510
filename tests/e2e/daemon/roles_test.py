# SPDX-License-Identifier: Apache-2.0
"""Who may do what, asked from this machine, from the home network and from elsewhere."""
import base64
import json
import re
import socket
import subprocess

import zbar
from PIL import Image

import home_network
from home_network import HERE, HERE_TOO, HOME, PHONE, PHONE_V6, STRANGER
from roles_case import Roles
from support import Daemon, main

ROLES = ["open", "read", "live", "admin"]
JSON = {"Content-Type": "application/json"}
RANK = {HERE: 2, PHONE: 1, PHONE_V6: 1, STRANGER: 0}


class HomeAssistantsCamera(Roles):
    """Its integration "MJPEG IP Camera" asks with Digest first, and with Basic where that is refused."""

    def test_a_token_as_password_gives_stream_and_picture(self):
        self.start().first_prediction()
        token = self.token("dashboard", "live")["Authorization"].split()[1]
        basic = {"Authorization": "Basic " + base64.b64encode(f"kinglet:{token}".encode()).decode()}
        refused = self.ask(PHONE, "/snapshot.jpg")
        self.assertEqual(refused.status, 401)
        self.assertIn('Basic realm="kinglet"', refused.headers["www-authenticate"])
        self.assertEqual(self.ask(PHONE, "/snapshot.jpg", headers=basic).headers["content-type"], "image/jpeg")
        with home_network.connect(PHONE, self.port) as stream:
            stream.sendall(f"GET /stream.mjpg HTTP/1.1\r\nHost: {HOME}\r\nAuthorization: {basic['Authorization']}\r\n\r\n".encode())
            head = b""
            while b"\xff\xd8" not in head and len(head) < 100_000:
                head += stream.recv(4096)
        self.assertTrue(head.startswith(b"HTTP/1.1 200"), head[:200])
        self.assertIn(b"multipart/x-mixed-replace", head)


class Table(Roles):
    def operations(self):
        for path, methods in self.ask(HERE, "/api/v1/openapi.json").json()["paths"].items():
            path = path.replace("{slug}", "busy").replace("{file}", "style.css").replace("{date}", "2026-05-04")
            for method, operation in methods.items():
                yield method.upper(), path.replace("{id}", "x").replace("{name}", "x").replace("{version}", "1"), operation["x-role"]

    def test_every_route_wants_its_role_from_every_place(self):
        self.start("http.rate=10000").first_prediction()
        seen = set()
        for method, path, role in self.operations():
            for source, rank in RANK.items():
                with self.subTest(method=method, path=path, source=source):
                    reply = self.ask(source, path, method)
                    if ROLES.index(role) <= rank:
                        self.assertNotIn(reply.status, (401, 403, 421, 429), reply.body)
                    else:
                        self.assert_refused(path, reply, 401, "token-required")
                        self.assertEqual(reply.headers["www-authenticate"], 'Bearer, Basic realm="kinglet"')
                    seen.add((role, rank))
        self.assertEqual(seen, {(role, rank) for role in ROLES for rank in range(3)})

    def test_every_route_takes_a_token_of_its_role_and_none_below(self):
        self.start("http.rate=10000").first_prediction()
        tokens = {role: self.token(role, role) for role in ROLES[1:]}
        for method, path, role in self.operations():
            for own, header in tokens.items():
                with self.subTest(method=method, path=path, own=own):
                    reply = self.ask(STRANGER, path, method, headers=header)
                    if ROLES.index(role) <= ROLES.index(own):
                        self.assertNotIn(reply.status, (401, 403, 421, 429), reply.body)
                    else:
                        self.assert_refused(path, reply, 403, "role-too-low")

    def test_anonymous_is_what_the_owner_says(self):
        for word, status in (("none", 401), ("read", 401), ("live", 200)):
            daemon = self.start(f"http.anonymous={word}")
            daemon.first_prediction()
            self.assertEqual(self.ask(PHONE, "/snapshot.jpg").status, status)
            self.assertEqual(self.ask(PHONE, "/api/v1/stats").status, 401 if word == "none" else 200)
            self.assertEqual(self.ask(STRANGER, "/api/v1/stats").status, 401)
            self.assertEqual(self.ask(HERE, "/snapshot.jpg").status, 200)
            daemon.stop()

    def test_no_header_makes_anybody_local(self):
        self.start()
        for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "REMOTE_ADDR", "X-Client-IP", "LOCAL_ADDR"):
            reply = self.ask(STRANGER, "/api/v1/stats", headers={name: "127.0.0.1"})
            self.assert_problem(reply, 401, "token-required")
        for name in ("X-Forwarded-For", "X-Forwarded-Host", "Forwarded"):
            self.assert_problem(self.ask(HERE, "/api/v1/stats", headers={name: "192.168.77.9"}), 401, "token-required")

    def test_a_trusted_proxy_brings_its_clients(self):
        daemon = self.start("http.trusted_proxies=127.0.0.1")
        for hops, status in (("203.0.113.9", 401), ("192.168.77.9", 200), ("192.168.77.9, 203.0.113.9", 401),
                             ("203.0.113.9, 192.168.77.9", 200), ("nonsense", 401), ("", 401), ("192.168.77.9, ", 401),
                             ("127.0.0.1", 401), ("[fe80::1]:443", 200)):
            self.assertEqual(self.ask(HERE, "/api/v1/stats", headers={"X-Forwarded-For": hops}).status, status, hops)
        self.assertEqual(self.ask(HERE_TOO, "/api/v1/stats", headers={"X-Forwarded-For": "192.168.77.9"}).status, 401)
        self.tool("pair")
        local = {**JSON, "X-Forwarded-For": "192.168.77.9", "X-Forwarded-Proto": "https"}
        claim = lambda: self.ask(HERE, "/api/v1/session", "POST", '{"claim": true}', local)
        reply = daemon.until(lambda: (now := claim()).status == 200 and now, "that the daemon hears of it")
        self.assertIn("; Secure", reply.headers["set-cookie"])

    def test_a_trusted_proxy_that_names_nobody_brings_strangers(self):
        daemon = self.start("http.trusted_proxies=127.0.0.1")
        for headers in ({}, {"X-Real-IP": "192.168.77.9"}, {"Forwarded": "for=192.168.77.9"}, {"Via": "1.1 box"},
                        [("X-Forwarded-For", "192.168.77.9"), ("X-Forwarded-For", "192.168.77.9")]):
            self.assert_problem(self.ask(HERE, "/api/v1/stats", headers=headers), 401, "token-required")
        daemon.says("does not say for whom it asks")

    def test_several_lines_of_hops_are_nobodys(self):
        self.start("http.trusted_proxies=127.0.0.1")
        for hops in (("192.168.77.9", "203.0.113.9"), ("203.0.113.9", "192.168.77.9"), ("192.168.77.9", "192.168.77.9")):
            lines = [("X-Forwarded-For", hop) for hop in hops]
            self.assert_problem(self.ask(HERE, "/api/v1/stats", headers=lines), 401, "token-required")
            claim = self.ask(HERE, "/api/v1/session", "POST", '{"claim": true}', [*JSON.items(), *lines])
            self.assert_problem(claim, 403, "role-too-low")

    def test_what_must_be_single_and_is_not_is_refused(self):
        self.start()
        for name, values in (("Host", ("localhost", "localhost")), ("Host", ("localhost", "evil.example")),
                             ("Origin", ("http://localhost", "http://evil.example")),
                             ("Authorization", ("Bearer a", "Bearer b")), ("Content-Length", ("2", "3"))):
            for order in (values, values[::-1]):
                lines = [*JSON.items(), *((name, value) for value in order)]
                reply = self.ask(PHONE, "/api/v1/session", "POST", "{}", lines)
                self.assert_problem(reply, 400, "bad-request")
        both = [*JSON.items(), ("Content-Length", "2"), ("Transfer-Encoding", "chunked")]
        self.assert_problem(self.ask(PHONE, "/api/v1/session", "POST", "{}", both), 400, "bad-request")
        self.assert_problem(self.ask(PHONE, "/livez", headers={"X-Forwarded-For ": "a"}), 400, "bad-request")

    def test_a_proxy_on_this_machine_makes_strangers_however_it_shows(self):
        daemon = self.start("http.allowed_hosts=birds.example")
        self.assertEqual(self.ask(HERE, "/api/v1/stats").status, 200)
        for headers in ({"X-Real-IP": "192.168.77.9"}, {"Via": "1.1 box"}, {"Host": "birds.example"}, {"Host": HOME},
                        {"X-Forwarded-Proto": "http"}):
            self.assert_problem(self.ask(HERE, "/api/v1/stats", headers=headers), 401, "token-required")
            claim = self.ask(HERE, "/api/v1/session", "POST", '{"claim": true}', {**JSON, **headers})
            self.assert_problem(claim, 403, "role-too-low")
        network = next(one for one in self.ask(HERE, "/api/v1/doctor").json()["checks"] if one["name"] == "network")
        self.assertEqual(network["status"], "warn")
        self.assertIn('http.trusted_proxies = ["127.0.0.1"]', network["hint"])
        daemon.stop()
        told = [line for line in daemon.lines if "http.trusted_proxies" in line]
        self.assertEqual(len(told), 1, told)


def read_qr(rows):
    """What a phone reads of a code drawn in blocks: each character is two modules, one above the other."""
    scale = 6
    picture = Image.new("L", (max(map(len, rows)) * scale, 2 * len(rows) * scale), 0)
    for y, row in enumerate(rows):
        for x, block in enumerate(row):
            for half, light in ((0, block in "█▀"), (1, block in "█▄")):
                if light:
                    left, top = x * scale, (2 * y + half) * scale
                    picture.paste(255, (left, top, left + scale, top + scale))
    image = zbar.Image(*picture.size, "Y800", picture.tobytes())
    zbar.ImageScanner().scan(image)
    return [symbol.data for symbol in image]


def svg_rows(svg):
    """The dark modules of the picture, drawn in the blocks of a terminal."""
    side = int(re.search(r'viewBox="0 0 (\d+) ', svg)[1])
    dark = set()
    for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)v1", svg.split("<path")[2]):
        dark |= {(int(x) + i, int(y)) for i in range(int(width))}
    blocks = {(False, False): "█", (False, True): "▀", (True, False): "▄", (True, True): " "}
    return ["".join(blocks[(x, y) in dark, (x, y + 1) in dark] for x in range(side)) for y in range(0, side, 2)]


class Guests(Roles):
    def test_the_owners_page_lets_another_phone_in(self):
        self.start().first_prediction()
        owner = self.token("owner", "admin")
        reply = self.ask(PHONE, "/api/v1/invitations", "POST", '{"role": "live"}', {**owner, **JSON})
        self.assertEqual(reply.status, 200, reply.body)
        made = reply.json()
        self.assertEqual((made["name"], made["role"]), ("live", "live"))
        # The owner's browser may be on the device; a phone is not.
        self.assertRegex(made["link"], rf"^http://{re.escape(socket.gethostname())}\.local:{self.port}/#token=kgl_[\w-]{{43}}$")
        self.assertEqual(read_qr(svg_rows(made["qr_svg"])), [made["link"]])
        there = self.ask(PHONE, "/api/v1/invitations", "POST", '{"role": "read"}', {**owner, **JSON, "Host": HOME}).json()
        self.assertRegex(there["link"], rf"^http://{re.escape(HOME)}/#token=")
        token = {"Authorization": "Bearer " + made["link"].split("=")[1]}
        self.assertEqual(self.ask(STRANGER, "/snapshot.jpg", headers=token).status, 200)
        again = self.ask(PHONE, "/api/v1/invitations", "POST", '{"role": "live"}', {**owner, **JSON}).json()
        self.assertEqual(again["name"], "live-2")
        self.assertIn("live-2", self.tool("token", "list"))
        for wrong in ('{"role": "admin"}', '{"role": "live", "x": 1}', "{}", "[]", "live"):
            self.assert_problem(self.ask(PHONE, "/api/v1/invitations", "POST", wrong, {**owner, **JSON}), 400, "bad-json")
        self.assert_problem(self.ask(PHONE, "/api/v1/invitations", "POST", '{"role": "live"}', JSON), 401, "token-required")

    def test_a_code_never_sends_a_phone_to_itself(self):
        with Daemon(sets=["http.listen=127.0.0.1:0", "source=demo:"]) as daemon:
            owner = daemon.claim()
            made = daemon.ask("/api/v1/invitations", "POST", '{"role": "live"}', {**owner, **JSON}).json()
            self.assertNotIn("qr_svg", made)
        with Daemon(sets=["http.listen=127.0.0.1:0", "source=demo:", "http.public_url=https://birds.example/"]) as daemon:
            owner = daemon.claim()
            made = daemon.ask("/api/v1/invitations", "POST", '{"role": "live"}', {**owner, **JSON}).json()
            self.assertEqual(read_qr(svg_rows(made["qr_svg"])), [made["link"]])
            self.assertRegex(made["link"], "^https://birds.example/#token=")

    def test_the_tool_draws_the_link_for_a_phone(self):
        self.start()
        *rows, link = self.tool("token", "add", "--role", "live", "--qr").split("\n")
        self.assertRegex(link, r"#token=kgl_[\w-]{43}$")
        self.assertEqual(read_qr(rows), [link])


class Owner(Roles):
    def claim(self, source, **headers):
        return self.ask(source, "/api/v1/session", "POST", '{"claim": true}', {**JSON, **headers})

    def test_the_first_phone_at_home_becomes_the_owner_once(self):
        daemon = self.start()
        self.assertEqual(self.ask(PHONE, "/api/v1/session").json(), {"role": "read", "local": True, "claimable": True, "owned": False})
        self.assertFalse(self.ask(STRANGER, "/api/v1/session").json()["claimable"])
        self.assert_problem(self.claim(STRANGER), 403, "role-too-low")
        self.assert_problem(self.claim(PHONE, Origin="http://evil.example"), 403, "foreign-origin")
        self.assert_problem(self.claim(PHONE, **{"X-Forwarded-For": PHONE}), 403, "role-too-low")
        reply = self.claim(PHONE, Origin="http://localhost")
        self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual(reply.json()["role"], "admin")
        cookie = reply.headers["set-cookie"]
        self.assertRegex(cookie, r"^kinglet=kgl_[\w-]{43}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000$")
        self.assertNotIn("kgl_", reply.body.decode())
        self.assert_problem(self.claim(HERE), 403, "role-too-low")
        owner = self.ask(PHONE, "/api/v1/session").json()["owner"]
        self.assertEqual(owner["claimed_from"], PHONE)
        daemon.says("claimed", PHONE)
        daemon.stop()
        self.assertFalse(any("kgl_" in line for line in daemon.lines))

    def test_the_cookie_watches_and_removes_only_for_our_own_page(self):
        self.start().first_prediction()
        cookie = {"Cookie": self.claim(PHONE).headers["set-cookie"].split(";")[0]}
        self.assertEqual(self.ask(STRANGER, "/snapshot.jpg", headers=cookie).status, 200)
        path = "/api/v1/visits/vis_00000000000000000000000000"
        self.assert_problem(self.ask(PHONE, path, "DELETE", headers=cookie), 403, "foreign-origin")
        for own in ({"Origin": "http://localhost"}, {"Sec-Fetch-Site": "same-origin"}):
            self.assert_problem(self.ask(PHONE, path, "DELETE", headers={**cookie, **own}), 404, "not-found")
        foreign = {**cookie, "Origin": "http://localhost:8080"}
        self.assert_problem(self.ask(PHONE, path, "DELETE", headers=foreign), 403, "foreign-origin")

    def test_signing_out_takes_the_cookie(self):
        self.start()
        reply = self.ask(PHONE, "/api/v1/session", "DELETE")
        self.assertEqual(reply.status, 204)
        self.assertIn("kinglet=; ", reply.headers["set-cookie"])
        self.assertIn("Max-Age=0", reply.headers["set-cookie"])

    def test_an_hour_later_only_a_person_at_the_device_opens_the_door(self):
        state = self.folder / "state"
        state.mkdir()
        (state / "tokens.toml").write_text("first_start = 1700000000\n")
        daemon = self.start()
        self.assert_problem(self.claim(PHONE), 403, "role-too-low")
        self.assertIn(".local:8420/", self.tool("pair"))
        daemon.until(lambda: self.ask(PHONE, "/api/v1/session").json()["claimable"], "that the daemon hears of it")
        self.assertEqual(self.claim(PHONE).status, 200)
        with self.assertRaises(subprocess.CalledProcessError) as refused:
            self.tool("pair")
        self.assertEqual(refused.exception.returncode, 64)
        self.assertIn("has an owner", refused.exception.stderr)

    def test_an_emptied_file_of_tokens_makes_nobody_the_owner(self):
        daemon = self.start()
        self.assertEqual(self.claim(PHONE).status, 200)
        daemon.stop()
        (self.folder / "state" / "tokens.toml").write_text("")
        self.start()
        self.assertFalse(self.ask(PHONE, "/api/v1/session").json()["claimable"])
        self.assert_problem(self.claim(PHONE), 403, "role-too-low")

    def test_a_readers_token_hides_no_owners_button(self):
        (self.folder / "state").mkdir()
        self.token("kitchen", "read")
        self.start()
        self.assertTrue(self.ask(PHONE, "/api/v1/session").json()["claimable"])
        self.assertEqual(self.claim(PHONE).status, 200)
        self.tool("token", "revoke", "owner")
        self.assert_problem(self.claim(PHONE), 403, "role-too-low")

    def test_an_owner_outlives_a_restart(self):
        daemon = self.start()
        token = re.match(r"kinglet=([^;]+)", self.claim(PHONE).headers["set-cookie"])[1]
        daemon.stop()
        self.start()
        self.assertEqual(self.ask(STRANGER, "/api/v1/session", headers={"Authorization": "Bearer " + token}).json()["token"],
                         "owner")
        self.assert_problem(self.claim(PHONE), 403, "role-too-low")


class Tokens(Roles):
    def test_a_token_is_made_used_listed_and_revoked_while_the_daemon_runs(self):
        daemon = self.start()
        daemon.first_prediction()
        token = self.tool("token", "add", "kitchen", "--role", "live")
        basic = "Basic " + base64.b64encode(f"anybody:{token}".encode()).decode()
        for value in ("Bearer " + token, "bearer  " + token, basic):
            self.assertEqual(self.ask(STRANGER, "/snapshot.jpg", headers={"Authorization": value}).status, 200, value)
        listed = json.loads(self.tool("token", "list", "--json"))["tokens"]
        self.assertEqual([(one["name"], one["role"]) for one in listed], [("kitchen", "live")])
        self.tool("token", "revoke", "kitchen")
        header = {"Authorization": "Bearer " + token}
        # The daemon looks once a second, or when somebody is unknown.
        reply = daemon.until(lambda: (now := self.ask(STRANGER, "/snapshot.jpg", headers=header)).status != 200 and now, "a refusal")
        self.assert_problem(reply, 401, "bad-token")

    def test_the_page_changes_the_token_of_its_address_into_a_cookie(self):
        self.start().first_prediction()
        link = self.tool("token", "add", "--role", "live", "--link")
        self.assertRegex(link, r"^http://.+:8420/#token=kgl_")
        body = json.dumps({"token": link.split("=")[1]})
        reply = self.ask(PHONE, "/api/v1/session", "POST", body, {**JSON, "Origin": "http://localhost"})
        self.assertEqual(reply.json()["role"], "live")
        cookie = {"Cookie": reply.headers["set-cookie"].split(";")[0]}
        self.assertEqual(self.ask(PHONE, "/snapshot.jpg", headers=cookie).status, 200)
        self.assertEqual(self.ask(PHONE, "/api/v1/session", headers=cookie).json()["token"], "live")

    def test_wrong_sessions_are_refused(self):
        self.start()
        for body in ("", "{", "[]", "{}", '{"claim": false}', '{"token": 7}', '{"token": "a", "claim": true}', "[" * 9000):
            self.assert_problem(self.ask(HERE, "/api/v1/session", "POST", body, JSON), 400, "bad-json")
        self.assert_problem(self.ask(HERE, "/api/v1/session", "POST", '{"claim": true}'), 415, "unsupported-media-type")

    def test_ten_wrong_tokens_close_the_door_of_that_address(self):
        self.start("http.rate=10000")
        right = self.token("right", "admin")
        wrong = {"Authorization": "Bearer kgl_" + "x" * 43}
        for _ in range(10):
            self.assert_problem(self.ask(STRANGER, "/api/v1/stats", headers=wrong), 401, "bad-token")
        reply = self.ask(STRANGER, "/api/v1/stats", headers=right)
        self.assert_problem(reply, 429, "too-many-requests")
        self.assertEqual(reply.headers["retry-after"], "60")
        body = json.dumps({"token": right["Authorization"].split()[1]})
        self.assert_problem(self.ask(STRANGER, "/api/v1/session", "POST", body, JSON), 429, "too-many-requests")
        self.assertEqual(self.ask(PHONE, "/api/v1/stats", headers=right).status, 200)

    def test_an_old_cookie_costs_no_reader_anything(self):
        self.start("http.rate=10000")
        old = {"Cookie": "kinglet=kgl_" + "x" * 43}
        for _ in range(30):
            self.assertEqual(self.ask(PHONE, "/api/v1/stats", headers=old).status, 200)
        reply = self.ask(PHONE, "/snapshot.jpg", headers=old)
        self.assert_problem(reply, 401, "bad-token")
        self.assertIn("Max-Age=0", reply.headers["set-cookie"])

    def test_too_many_requests_of_one_address(self):
        self.start("http.rate=1")
        replies = (self.ask(PHONE, "/api/v1/stats") for _ in range(1000))
        refused = next(reply for reply in replies if reply.status != 200)
        self.assert_problem(refused, 429, "too-many-requests")
        self.assertEqual(refused.headers["retry-after"], "1")
        for _ in range(60):
            self.assertEqual(self.ask(HERE, "/api/v1/stats").status, 200)


if __name__ == "__main__":
    main()
