# SPDX-License-Identifier: Apache-2.0
"""Gives a history that no daemon has open a past: its first visit happened the day before yesterday as well, at seven, and
the last hours have rows of throughput with a pause of two hours; with MORE, it happened so often again in the hours before now.
Usage: seed_past.py STATE_FOLDER ZONE [MORE]"""
import datetime
import sqlite3
import sys
import zoneinfo
from pathlib import Path

MINUTES = 60_000
zone = zoneinfo.ZoneInfo(sys.argv[2])
now = datetime.datetime.now(zone)
past = (now - datetime.timedelta(days=2)).replace(hour=7, minute=30, second=0, microsecond=0)
with sqlite3.connect(Path(sys.argv[1]) / "kinglet.db") as database:
    columns = [row[1] for row in database.execute("PRAGMA table_info(visits)")]
    changed = {"seq": "0", "id": "'vis_00000000000000000000000000'", "day": f"'{past.date()}'", "hour": "7",
               "started_ms": str(int(past.timestamp() * 1000)), "crop_bytes": "NULL", "frame_bytes": "NULL", "clip_bytes": "NULL"}
    more = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    [highest] = database.execute("SELECT max(seq) FROM visits").fetchone()
    for again in range(more):
        wanted = {**changed, "seq": str(highest + 1 + again), "id": f"'vis_0000000000000000000000{again + 1:04}'",
                  "day": f"'{now.date()}'", "hour": str(now.hour), "started_ms": str(int(now.timestamp() * 1000) - 10_000 * (more - again))}
        values = ", ".join(wanted.get(name, name) for name in columns)
        database.execute(f"INSERT INTO visits SELECT {values} FROM visits ORDER BY seq LIMIT 1")
    values = ", ".join(changed.get(name, name) for name in columns)
    database.execute(f"INSERT INTO visits SELECT {values} FROM visits ORDER BY seq LIMIT 1")
    newest = int(now.timestamp() * 1000)
    for back in (*range(200, 230, 5), *range(5, 60, 5)):  # minutes ago
        database.execute("INSERT INTO throughput(at_ms, clock_synced, span_ms, frames, images, accepted, latency_p50_ms,"
                         " latency_p99_ms) VALUES(?, 1, ?, 9000, ?, 10, 31.5, 48.0)",
                         (newest - back * MINUTES, 5 * MINUTES, 1500 if back > 100 else 600))
database.close()
print(past.date())
