# SPDX-License-Identifier: Apache-2.0
"""A stand-in for an ONVIF camera: the four questions about its stream over HTTP, each login held as WS-Security's Username Token
Profile says it. Answers in the form of ONVIF's device and media services. Standard library only."""
import base64
import hashlib
import threading
import time
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.dom import minidom
from xml.sax.saxutils import escape

USER, PASSWORD = "bird & watcher", "seed<s>'\"ä"
FRESH = 100  # seconds that a login is good for

ANSWER = """<?xml version="1.0" encoding="UTF-8"?>
<SOAP-ENV:Envelope xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope" xmlns:tds="http://www.onvif.org/ver10/device/wsdl"
 xmlns:trt="http://www.onvif.org/ver10/media/wsdl" xmlns:tt="http://www.onvif.org/ver10/schema"
 xmlns:ter="http://www.onvif.org/ver10/error"><SOAP-ENV:Body>{}</SOAP-ENV:Body></SOAP-ENV:Envelope>"""
REFUSED = """<SOAP-ENV:Fault><SOAP-ENV:Code><SOAP-ENV:Value>SOAP-ENV:Sender</SOAP-ENV:Value><SOAP-ENV:Subcode>
<SOAP-ENV:Value>ter:NotAuthorized</SOAP-ENV:Value></SOAP-ENV:Subcode></SOAP-ENV:Code><SOAP-ENV:Reason>
<SOAP-ENV:Text xml:lang="en">Sender not Authorized</SOAP-ENV:Text></SOAP-ENV:Reason></SOAP-ENV:Fault>"""


def profiles_of(*rows):
    """(token, width, height) of each, escaped."""
    return "".join(f"""<trt:Profiles token="{token}" fixed="true"><tt:Name>{token}</tt:Name><tt:VideoSourceConfiguration token="V">
<tt:Bounds x="0" y="0" width="2560" height="1440"/></tt:VideoSourceConfiguration><tt:VideoEncoderConfiguration token="E{token}">
<tt:Encoding>H264</tt:Encoding><tt:Resolution><tt:Width>{width}</tt:Width><tt:Height>{height}</tt:Height></tt:Resolution>
</tt:VideoEncoderConfiguration></trt:Profiles>""" for token, width, height in rows)


PROFILES = profiles_of(("Main&amp;1", 2560, 1440), ("Sub&amp;2", 640, 360), ("Tiny", 160, 90))


class OnvifDevice:
    """On port 80 of an address; `stream`: where the only one is that may be asked for, or where that of each token is; `heard`:
    bodies of all questions; `refused`: how many without a right login."""

    def __init__(self, address, behind=0, password=PASSWORD, stream="rtsp://{address}:554/sub?a=1&b=2", profiles=PROFILES, raw=None,
                 status=200):
        self.address, self.behind, self.password, self.status = address, behind, password, status
        self.streams = stream if isinstance(stream, dict) else {"Sub&2": stream.format(address=address)}
        self.profiles, self.raw = profiles, raw
        self.heard, self.refused = [], 0
        device = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                device.heard.append(body)
                status, reply = device.reply(self.path, body)
                self.send_response(status)
                self.send_header("Content-Type", "application/soap+xml")
                self.send_header("Location", "http://192.168.9.9/")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                try:
                    self.wfile.write(reply)
                except OSError:
                    pass  # who asks has heard enough

            def log_message(self, *_):
                pass
        self.server = ThreadingHTTPServer((address, 80), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def now(self):
        return time.time() - self.behind

    def lets_in(self, document):
        def text(name):
            found = document.getElementsByTagNameNS("*", name)
            return found[0].firstChild.data if found else ""
        created = text("Created")
        if not created:
            return False
        signed = base64.b64decode(text("Nonce")) + created.encode() + self.password.encode()
        age = self.now() - datetime.fromisoformat(created).timestamp()
        return (text("Username") == USER and abs(age) < FRESH
                and text("Password") == base64.b64encode(hashlib.sha1(signed).digest()).decode())

    def reply(self, path, body):
        document = minidom.parseString(body)
        [question] = [node.localName for node in document.getElementsByTagNameNS("*", "Body")[0].childNodes]
        if question == "GetSystemDateAndTime":
            now = datetime.fromtimestamp(self.now(), timezone.utc)
            return 200, ANSWER.format(
                "<tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime><tt:DateTimeType>NTP</tt:DateTimeType><tt:UTCDateTime>"
                f"<tt:Time><tt:Hour>{now.hour}</tt:Hour><tt:Minute>{now.minute}</tt:Minute><tt:Second>{now.second}</tt:Second></tt:Time>"
                f"<tt:Date><tt:Year>{now.year}</tt:Year><tt:Month>{now.month}</tt:Month><tt:Day>{now.day}</tt:Day></tt:Date>"
                "</tt:UTCDateTime></tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>").encode()
        if not self.lets_in(document):
            self.refused += 1
            return 400, ANSWER.format(REFUSED).encode()
        if self.raw is not None or self.status != 200:
            return self.status, self.raw or b""
        if question == "GetCapabilities":
            assert path == "/onvif/device_service"
            return 200, ANSWER.format(
                "<tds:GetCapabilitiesResponse><tds:Capabilities><tt:Media><tt:XAddr>"
                f"http://{self.address}/onvif/media</tt:XAddr></tt:Media></tds:Capabilities></tds:GetCapabilitiesResponse>").encode()
        assert path == "/onvif/media"
        if question == "GetProfiles":
            return 200, ANSWER.format(f"<trt:GetProfilesResponse>{self.profiles}</trt:GetProfilesResponse>").encode()
        token = document.getElementsByTagNameNS("*", "ProfileToken")[0].firstChild.data
        assert question == "GetStreamUri"
        return 200, ANSWER.format(f"<trt:GetStreamUriResponse><trt:MediaUri><tt:Uri>{escape(self.streams[token])}</tt:Uri>"
                                  "</trt:MediaUri></trt:GetStreamUriResponse>").encode()
