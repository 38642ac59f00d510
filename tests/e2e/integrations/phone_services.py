# SPDX-License-Identifier: Apache-2.0
"""Stand-ins of the services of messages. Each holds the request to the form that the service's own documentation asks for,
and refuses what that service would refuse, so that a message which a stand-in took is one that the service takes."""
import base64
import contextlib
import email.header
import email.parser
import email.policy
import http.server
import json
import re
import socketserver
import ssl
import threading

from broker import until

JPEG = b"\xff\xd8"


class Refused(Exception):
    def __init__(self, status, why):
        super().__init__(why)
        self.status = status


def need(condition, why, status=400):
    if not condition:
        raise Refused(status, why)


def form_of(headers, body):
    """multipart/form-data (RFC 7578): (file name, type, bytes) by field."""
    need(headers["content-type"].startswith("multipart/form-data; boundary="), "no form")
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        b"Content-Type: " + headers["content-type"].encode() + b"\r\n\r\n" + body)
    need(message.is_multipart() and not message.defects, f"a damaged form: {message.defects}")
    fields = {}
    for part in message.iter_parts():
        need(part.get_content_disposition() == "form-data", "a part that is no field")
        name = part.get_param("name", header="content-disposition")
        need(name not in fields, f"{name} twice")
        raw = part.get_payload(decode=True)
        fields[name] = (part.get_filename(), part.get_content_type() if part.get_filename() else None, raw)
    return fields


def texts_of(fields):
    return {name: raw.decode() for name, (file, _, raw) in fields.items() if file is None}


def need_picture(field):
    _, kind, raw = field
    need(kind == "image/jpeg" and raw[:2] == JPEG and raw[-2:] == b"\xff\xd9", f"no picture: {kind} {raw[:8]}")


def need_object(headers, body):
    need(headers["content-type"].startswith("application/json"), "no JSON")
    value = json.loads(body)
    need(isinstance(value, dict), "no object")
    return value


def ntfy(method, path, headers, body):
    """docs.ntfy.sh/publish: the topic is the path; PUT a file with the words in headers, or POST the words."""
    need(re.fullmatch(r"/[-_A-Za-z0-9]{1,64}", path), "no topic", 404)
    need(headers.get("authorization") == "Bearer tk_secret", "no access", 401)
    need(int(headers.get("priority", 3)) in range(1, 6), "priority")
    need(headers.get("tags") in ("bird", "warning"), "tags")
    title = str(email.header.make_header(email.header.decode_header(headers["title"])))
    if method == "PUT":
        need(headers["filename"].endswith(".jpg") and body[:2] == JPEG, "no file")
        text = str(email.header.make_header(email.header.decode_header(headers["message"])))
        return {"title": title, "text": text, "pictures": [body], "link": headers.get("click")}
    need(method == "POST" and len(body) <= 4096, "a text has at most 4,096 bytes")
    need(body, "an empty one is shown as the word triggered")
    return {"title": title, "text": body.decode(), "pictures": [], "link": headers.get("click")}


def telegram(method, path, headers, body):
    """core.telegram.org/bots/api: sendMessage, sendPhoto, sendMediaGroup as forms."""
    found = re.fullmatch(r"/bot(\d+:[-\w]+)/(\w+)", path)
    need(found and method == "POST", "no method of a bot", 404)
    need(found[1] == "123:secret", "Unauthorized", 401)
    fields = form_of(headers, body)
    texts = texts_of(fields)
    need(re.fullmatch(r"-?\d+|@\w+", texts["chat_id"]), "chat not found")
    pictures = []
    if found[2] == "sendMessage":
        words = texts["text"]
        need(0 < len(words) <= 4096, "message is too long")
    elif found[2] == "sendPhoto":
        need_picture(fields["photo"])
        words, pictures = texts["caption"], [fields["photo"][2]]
    else:
        need(found[2] == "sendMediaGroup", "no such method", 404)
        media = json.loads(texts["media"])
        need(2 <= len(media) <= 10, "an album has 2 to 10 items")
        for one in media:
            need(one["type"] == "photo" and one["media"].startswith("attach://"), "no photo")
            need_picture(fields[one["media"].removeprefix("attach://")])
            pictures.append(fields[one["media"].removeprefix("attach://")][2])
        words = media[0]["caption"]
    if pictures:
        need(len(words) <= 1024, "caption is too long")
    title, _, text = words.partition("\n")
    return {"title": title, "text": text, "pictures": pictures}


def gotify(method, path, headers, body):
    """gotify.net/api-docs, POST /message; gotify.net/docs/msgextras."""
    need((method, path) == ("POST", "/message"), "page not found", 404)
    need(headers.get("x-gotify-key") == "app_secret", "you need to provide a valid access token", 401)
    message = need_object(headers, body)
    need(message.keys() <= {"title", "message", "priority", "extras"} and message["message"], "a member that is none")
    need(isinstance(message["priority"], int), "priority")
    for namespace in message.get("extras", {}):
        need(re.fullmatch(r"\w+::\w+", namespace), "extras are objects in namespaces")
    shown = message.get("extras", {}).get("client::notification", {})
    need(shown.keys() <= {"click", "bigImageUrl"}, "client::notification")
    return {"title": message["title"], "text": message["message"], "pictures": [], "link": shown.get("click", {}).get("url"),
            "picture_link": shown.get("bigImageUrl")}


def pushover(method, path, headers, body):
    """pushover.net/api: POST /1/messages.json, one attachment of at most 5 MB."""
    need((method, path) == ("POST", "/1/messages.json"), "not found", 404)
    fields = form_of(headers, body)
    texts = texts_of(fields)
    need(texts["token"] == "app_secret", "application token is invalid")
    need(re.fullmatch(r"[A-Za-z0-9]{30}", texts["user"]), "user identifier is invalid")
    need(0 < len(texts["message"]) <= 1024 and len(texts.get("title", "")) <= 250 and len(texts.get("url", "")) <= 512, "too long")
    need(texts.keys() <= {"token", "user", "title", "message", "url", "priority"}, "a parameter that is none")
    if "attachment" in fields:
        need_picture(fields["attachment"])
        need(len(fields["attachment"][2]) <= 5_242_880, "attachment is too large", 413)
    return {"title": texts["title"], "text": texts["message"], "link": texts.get("url"),
            "pictures": [fields["attachment"][2]] if "attachment" in fields else []}


def discord(method, path, headers, body):
    """Discord, Execute Webhook: payload_json and files[n] in a form."""
    need(method == "POST" and re.fullmatch(r"/api/webhooks/12345/hook_secret\?wait=true", path), "Unknown Webhook", 404)
    fields = form_of(headers, body)
    payload = json.loads(texts_of(fields)["payload_json"])
    need(0 < len(payload["content"]) <= 2000, "content")
    need(payload["allowed_mentions"] == {"parse": []}, "somebody could be called")
    files = [name for name, (file, _, _) in fields.items() if file]
    need(files == [f"files[{i}]" for i in range(len(files))] and len(files) <= 10, "files")
    for name in files:
        need_picture(fields[name])
    title, _, text = payload["content"].partition("\n")
    return {"title": title, "text": text, "pictures": [fields[name][2] for name in files]}


def own(method, path, headers, body):
    """Somebody's own receiver, for service = "template"."""
    need((method, path) == ("POST", "/hook") and headers.get("x-key") == "own secret", "no access", 401)
    message = need_object(headers, body)
    return {"title": message["title"], "text": message["text"], "pictures": [base64.b64decode(message["picture"])]}


# What each answers with a refusal, as its documentation has it.
REFUSALS = {
    ntfy: lambda status, why: {"code": 100 * status + 1, "http": status, "error": why, "link": "https://ntfy.sh/docs/publish/"},
    telegram: lambda status, why: {"ok": False, "error_code": status, "description": why},
    gotify: lambda status, why: {"error": http.HTTPStatus(status).phrase, "errorCode": status, "errorDescription": why},
    pushover: lambda status, why: {"token": "invalid", "errors": [why], "status": 0, "request": "647d2300-702c-4b38-8b2f-d56326ae460b"},
    discord: lambda status, why: {"message": why, "code": 10015},
    own: lambda status, why: {"code": status, "message": why},
}


class Service:
    """A stand-in over HTTP. `fails`: how many requests it answers with 503 first; `status`: what it answers always; `answer`: the
    body of it."""

    def __init__(self, form, fails=0, status=None, headers=None, answer=b""):
        self.messages, self.refusals, self.requests = [], [], 0
        self.fails, self.status = fails, status
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def take(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.requests += 1
                given = {name.lower(): value for name, value in self.headers.items()}
                status = service.status or (503 if service.requests <= service.fails else 200)
                told = answer
                if status == 200:
                    try:
                        service.messages.append(form(self.command, self.path, given, body))
                    except Refused as refused:
                        service.refusals.append(str(refused))
                        status = refused.status
                        told = json.dumps(REFUSALS.get(form, REFUSALS[own])(status, str(refused))).encode()
                    except (KeyError, ValueError) as error:
                        service.refusals.append(repr(error))
                        status = 400
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            do_POST = do_PUT = take

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait(self, count=1, matches=lambda message: True):
        """Those that match, once there are so many."""
        found = until(lambda: self.refusals or len(self.matching(matches)) >= count and self.matching(matches), f"{count} messages")
        assert not self.refusals, self.refusals
        return found

    def matching(self, matches):
        return [message for message in list(self.messages) if matches(message)]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class MailServer:
    """SMTP (RFC 5321) that offers STARTTLS and AUTH PLAIN, and takes mail from who has used both."""

    def __init__(self, certificate, key, address, tls=True):
        self.mails, self.refusals = [], []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def say(self, line):
                self.wfile.write(line.encode() + b"\r\n")
                self.wfile.flush()

            def handle(self):
                state = {"encrypted": False, "user": None, "from": None, "to": []}
                self.say("220 mail.example ESMTP")
                with contextlib.suppress(ssl.SSLError, ConnectionError):  # who does not trust us goes away
                    while line := self.rfile.readline():
                        if not self.command(line.decode().rstrip("\r\n"), state):
                            break
                self.connection.close()

            def command(self, line, state):
                word = line.split(" ")[0].upper()
                if word in ("EHLO", "HELO"):
                    offers = ["mail.example", "SIZE 20000000", *(["STARTTLS"] if tls and not state["encrypted"] else []),
                              *(["AUTH PLAIN"] if state["encrypted"] else [])]
                    for i, offer in enumerate(offers):
                        self.say(f"250{' ' if i + 1 == len(offers) else '-'}{offer}")
                elif word == "STARTTLS" and tls:
                    self.say("220 go ahead")
                    self.connection = context.wrap_socket(self.connection, server_side=True)
                    self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")
                    state["encrypted"] = True
                elif word == "AUTH":
                    self.log_in(line, state)
                elif not state["user"] and word in ("MAIL", "RCPT", "DATA"):
                    outer.refusals.append(line)
                    self.say("530 authentication required")
                elif word == "MAIL":
                    state["from"] = re.fullmatch(r"MAIL FROM:<([^<>]+@[^<>]+)>( SIZE=\d+)?", line)[1]
                    self.say("250 ok")
                elif word == "RCPT":
                    state["to"].append(re.fullmatch(r"RCPT TO:<([^<>]+@[^<>]+)>", line)[1])
                    self.say("250 ok")
                elif word == "DATA":
                    self.take(state)
                else:
                    self.say("221 bye" if word == "QUIT" else "502 no")
                    return word != "QUIT"
                return True

            def log_in(self, line, state):
                words = line.split(" ")
                if len(words) == 2:
                    self.say("334 ")
                    words.append(self.rfile.readline().decode().strip())
                _, user, password = base64.b64decode(words[2]).decode().split("\0")
                if password == "mail secret":
                    state["user"] = user
                    self.say("235 ok")
                else:
                    outer.refusals.append("login")
                    self.say("535 authentication failed")

            def take(self, state):
                self.say("354 go on")
                lines = []
                while (line := self.rfile.readline()) != b".\r\n":
                    if not line.endswith(b"\r\n") or len(line) > 1000:
                        outer.refusals.append(f"a line as none is in a letter: {line[:60]}")
                    lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
                letter = email.parser.BytesParser(policy=email.policy.default).parsebytes(b"".join(lines))
                outer.mails.append({**state, "letter": letter})
                self.say("250 taken")

        self.server = socketserver.ThreadingTCPServer((address, 0), Handler)
        self.server.daemon_threads = True
        self.address = self.server.server_address
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
