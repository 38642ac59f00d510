# SPDX-License-Identifier: Apache-2.0
"""A server on this machine that has one model's file, and every way in which such a server lets one down."""
import hashlib
import http.server
import json
import threading


class Mirror:
    """Serves `body`. It can end early (cut_after), fall silent (silent_after), ignore ranges, answer with a status, or redirect."""

    def __init__(self, body):
        self.body, self.cut_after, self.silent_after, self.ranges = body, None, None, True
        self.status, self.redirect = None, None
        self.requests = []
        self.goes_on = threading.Event()  # ends a silence
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                wanted = self.headers.get("Range")
                outer.requests.append((self.path, wanted))
                if outer.redirect and self.path != "/moved":
                    self.send_response(302)
                    self.send_header("Location", outer.redirect)
                    self.end_headers()
                    return
                if outer.status:
                    self.send_error(outer.status)
                    return
                first = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted and outer.ranges else 0
                self.send_response(206 if first else 200)
                if first:
                    self.send_header("Content-Range", f"bytes {first}-{len(outer.body) - 1}/{len(outer.body)}")
                self.send_header("Content-Length", str(len(outer.body) - first))
                self.end_headers()
                most = outer.cut_after if outer.silent_after is None else outer.silent_after
                end = len(outer.body) if most is None else first + most
                self.wfile.write(outer.body[first:end])
                if outer.silent_after is not None:
                    outer.goes_on.wait(600)
                self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def address(self, path="/bird.onnx"):
        return f"http://127.0.0.1:{self.server.server_address[1]}{path}"

    def close(self):
        self.goes_on.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def catalogue_of(body, places, **changes):
    """A catalogue with one model, `tiny-bird`, as JSON."""
    entry = {"name": "tiny-bird", "summary": "a test", "addresses": list(places),
             "sha256": hashlib.sha256(body).hexdigest(), "size_bytes": len(body), "licence": "CC-BY-4.0",
             "licence_address": "https://example.org/licence", "source": "tests",
             "recipe": {"mean": [127.5] * 3, "std": [127.5] * 3}, **changes}
    return json.dumps({"models": [entry]})
