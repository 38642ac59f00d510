# SPDX-License-Identifier: Apache-2.0
"""Boxes with a state and an /etc of their own, daemons that live in them, and the tool's backup and restore."""
import os
import shutil
import subprocess

from support import SOURCE_DIR, Daemon, ScratchFolder

KINGLET = os.environ["KINGLET"]
DEMO = SOURCE_DIR / "models" / "demo"
QUICK = ["source=demo:1", "visits.end_after=1s", "store.flush_interval=100ms", "gate.max_fps=100"]
DATABASE = "state/kinglet.db"


def tree(folder):
    """Every file below the folder with its bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Boxes(ScratchFolder):
    def box(self, name):
        state, etc = self.folder / name / "state", self.folder / name / "etc"
        state.mkdir(parents=True)
        etc.mkdir()
        return state, etc

    def daemon(self, box, *sets):
        state, etc = box
        flags = ["--config", str(etc / "kinglet.toml")] if (etc / "kinglet.toml").exists() else []
        return Daemon(*flags, sets=[*QUICK, f"store.path={state}", *sets])

    def kinglet(self, *arguments, code=0, **options):
        ended = subprocess.run([KINGLET, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120, **options)
        self.assertEqual(ended.returncode, code, ended.stderr)
        return ended

    def back_up(self, box, file, *more, **options):
        state, etc = box
        return self.kinglet("backup", "-o", file, "--etc", etc, "--set", f"store.path={state}", *more, **options)

    def restore(self, box, *arguments, **options):
        state, etc = box
        return self.kinglet("restore", *arguments, "--etc", etc, "--set", f"store.path={state}", **options)

    def visits(self, daemon):
        return {one["id"]: one for one in daemon.ask("/api/v1/visits?limit=500").json()["items"] if one["state"] == "ended"}

    def complete(self, daemon):
        """Those of them whose pictures stay as they are."""
        return {name: one for name, one in self.visits(daemon).items() if "snapshot" in one["links"]}

    def owned_backup(self, daemon):
        """Who may bring it back, and one of what there is: a visit at least."""
        owner = daemon.claim()
        self.ended_visits(daemon)
        return owner, daemon.ask("/api/v1/backup", headers=owner).body

    def ended_visits(self, daemon, count=1):
        def safe():
            found = self.complete(daemon)
            waiting = daemon.ask("/api/v1/stats").json()["store"]["waiting_visits"]
            return found if len(found) >= count and waiting == 0 else None
        return daemon.until(safe, f"{count} visits with their pictures")

    def lived_in(self, name="old"):
        """A box with visits, an owner, a model that was activated and a setting; and what its daemon answers."""
        box = self.box(name)
        state, etc = box
        (etc / "kinglet.toml").write_text('[node]\nname = "oldbox"\n')
        (etc / "mqtt-password").write_text("not for HTTP\n")
        (state / "models").mkdir()
        for ending in (".onnx", ".labels.txt", ".recipe.json"):
            shutil.copy(DEMO / ("kinglet-demo" + ending), state / "models" / ("mine" + ending))
        return box

    def live(self, daemon):
        owner = daemon.claim()
        tag = daemon.ask("/api/v1/config", headers=owner).headers["etag"]
        changed = daemon.ask("/api/v1/config", "PATCH", '{"decide.min_score": 0.55}',
                             {**owner, "Content-Type": "application/merge-patch+json", "If-Match": tag})
        self.assertEqual(changed.status, 200, changed.body)
        self.assertEqual(daemon.ask("/api/v1/models/mine/activate", "POST", headers=owner).status, 202)
        daemon.until(lambda: daemon.ask("/api/v1/model").json()["name"] == "mine", "the model")
        return owner, self.ended_visits(daemon)
