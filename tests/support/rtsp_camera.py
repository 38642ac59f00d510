# SPDX-License-Identifier: Apache-2.0
"""A network camera: GStreamer's RTSP server over video files, a process of its own that can be frozen and killed.
As a program: rtsp_camera.py {"/live": VIDEO} PORT [LOGIN basic|digest]; it prints its port."""
import json
import signal
import subprocess
import sys
import threading


def serve(videos, port, login=None, method=None):
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstRtsp", "1.0")
    gi.require_version("GstRtspServer", "1.0")
    from gi.repository import GLib, Gst, GstRtsp, GstRtspServer
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(port)
    factories = {}
    for path, video in json.loads(videos).items():
        factories[path] = GstRtspServer.RTSPMediaFactory()
        factories[path].set_launch(f"( filesrc location={video} ! qtdemux ! rtph264pay name=pay0 pt=96 config-interval=1 )")
    if login:
        user, password = login.split(":", 1)
        token = GstRtspServer.RTSPToken()
        token.set_string("media.factory.role", "viewer")
        auth = GstRtspServer.RTSPAuth()
        if method == "digest":
            auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
            auth.add_digest(user, password, token)
        else:
            auth.add_basic(GstRtspServer.RTSPAuth.make_basic(user, password), token)
        server.set_auth(auth)
        rights = "viewer,media.factory.access=true,media.factory.construct=true"
        for factory in factories.values():
            factory.add_role_from_structure(Gst.Structure.from_string(rights)[0])
    for path, factory in factories.items():
        server.get_mount_points().add_factory(path, factory)
    server.attach(None)
    print(server.get_bound_port(), flush=True)
    GLib.MainLoop().run()


class RtspCamera:
    """`with RtspCamera(video) as camera:` has it at /live, RtspCamera({"/sub": video}) where it says; `login` is "user:password"."""

    def __init__(self, video, login=None, method="digest", port=0):
        self.port = port
        self.words = [login, method] if login else []
        self.videos = {path: str(file) for path, file in (video if isinstance(video, dict) else {"/live": video}).items()}
        self.start()

    def start(self):
        """Again on the same port after kill()."""
        self.process = subprocess.Popen([sys.executable, __file__, json.dumps(self.videos), str(self.port), *self.words],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = []
        threading.Thread(target=lambda stream=self.process.stderr: self.said.extend(stream), daemon=True).start()
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise AssertionError("no RTSP server:\n" + "".join(self.said))
        self.port = int(line)

    @property
    def url(self):
        return f"rtsp://127.0.0.1:{self.port}/live"

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


if __name__ == "__main__":
    serve(*sys.argv[1:])
