# SPDX-License-Identifier: Apache-2.0
"""Scenes of a feeder for field.py: photographs of birds on a drawn garden that moves, as recordings of kinglet.

What a scene holds is fixed by its name, so that a figure can be told again; a drawn recording stays in the cache until
this file or the scene changes. Needs Pillow."""
import hashlib
import io
import json
import math
import os
import random
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

WIDTH, HEIGHT, FPS = 960, 540, 5
START = 1_777_874_400  # 2026-05-04T06:00:00Z, where replays of made pictures begin, too
LEAD = 24  # seconds without anybody: a new scene is learnt in twenty
MJPEG, FULL_RANGE = 4, 0  # numbers of camera/frame/frame.h
FLIGHT = 0.6  # seconds from the edge to the perch


@dataclass
class Stay:
    """One bird's, from the first frame in which it is seen."""
    species: str  # scientific name, lower case, hyphens
    photo: str
    begin: float
    end: float
    x: float
    y: float
    height: float  # of the picture's
    hops: bool = True
    company: int = -1  # those who are there at once


@dataclass
class Scene:
    name: str
    group: str
    seconds: float
    stays: list = field(default_factory=list)
    wind: float = 1.5  # pixels that leaves sway
    rain: int = 0  # drops a frame
    light: float = 0.03  # share by which clouds change it
    noise: int = 2
    night: bool = False
    thing: str = ""  # what else moves: squirrel, feeder, overlay, patch (of sun, which comes round every three minutes)


def birds_of(corpus):
    """(species, photo) of every photograph of a bird, those of one species far apart."""
    found = []
    for photo in json.loads((corpus / "corpus.json").read_text())["photos"]:
        names = photo.get("accept", {}).get("inat_bird", [])
        if names:
            found.append((names[0].split(" (")[0].lower().replace(" ", "-"), photo["file"]))
    return [found[9 * i % len(found)] for i in range(len(found))]


def pairs_of(birds, count):
    """Different birds, none of the pair before."""
    pairs = []
    for step in range(3, len(birds)):
        for i, one in enumerate(birds):
            other = birds[(i + step) % len(birds)]
            before = {species for bird in pairs[-1:] for species, _ in bird}
            if one[0] != other[0] and not before & {one[0], other[0]} and len(pairs) < count:
                pairs.append((one, other))
    return pairs


def scenes_of(corpus, places):
    birds = birds_of(corpus)
    spots = ((0.3, 0.42), (0.66, 0.55), (0.5, 0.35), (0.42, 0.6), (0.75, 0.4), (0.25, 0.6))[:places]
    scenes = []
    for share in (0.8, 0.5, 0.3, 0.2):
        for place, (x, y) in enumerate(spots):
            stays = [Stay(species, photo, LEAD + 18 * i, LEAD + 18 * i + 8, x, y, share)
                     for i, (species, photo) in enumerate(birds)]
            scenes.append(Scene(f"one_{share:.0%}_{place}".replace("%", ""), f"one at {share:.0%}", LEAD + 18 * len(birds), stays))
    pairs = pairs_of(birds, 25)
    stays = []
    for i, pair in enumerate(pairs):
        for (species, photo), x, late in zip(pair, (0.28, 0.7), (0, 1.5)):
            stays.append(Stay(species, photo, LEAD + 26 * i + late, LEAD + 26 * i + 14, x, 0.5, 0.3, company=i))
    scenes.append(Scene("two_30", "two at 30%", LEAD + 26 * len(pairs), stays))
    stays = []
    for i in range(6):
        several = [birds[(9 * i + 5 * j) % len(birds)] for j in range(4)]
        for j, ((species, photo), x) in enumerate(zip(several, (0.14, 0.38, 0.62, 0.86))):
            stays.append(Stay(species, photo, LEAD + 38 * i + 2 * j, LEAD + 38 * i + 22, x, 0.45 + 0.1 * (j % 2), 0.25, company=i))
    scenes.append(Scene("four_25", "four at 25%", LEAD + 38 * 6, stays))
    for i in (0, 3, 8, 13):
        species, photo = birds[i]
        scenes.append(Scene(f"sitting_{i}", "five minutes of sitting", LEAD + 320,
                            [Stay(species, photo, LEAD, LEAD + 300, 0.55, 0.5, 0.35, hops=False)]))
    stays = [Stay(species, photo, LEAD + 20 * i, LEAD + 20 * i + 10, 0.45, 0.5, 0.5)
             for i, (species, photo) in enumerate(birds[:14])]
    scenes.append(Scene("night", "night, one at 50%", LEAD + 20 * 14, stays, noise=7, night=True))
    scenes += [Scene("wind", "nobody: wind", 900, wind=16), Scene("rain", "nobody: rain", 900, wind=4, rain=60),
               Scene("light", "nobody: light", 900, light=0.35, thing="patch"),
               Scene("storm", "nobody: all three", 900, wind=16, rain=40, light=0.25, thing="patch"),
               Scene("squirrel", "nobody: squirrel", 60, thing="squirrel"),
               Scene("feeder", "nobody: swinging feeder", 60, wind=4, thing="feeder"),
               Scene("overlay", "nobody: overlay", 60, thing="overlay")]
    return scenes


def noise(dice, size, reach):
    """Grey, even, 128 and up to `reach` more or less."""
    grains = Image.frombytes("L", size, dice.randbytes(size[0] * size[1]))
    return grains.point([round(128 + (value - 127.5) / 127.5 * reach) for value in range(256)])


class Garden:
    """What is there without anybody, at any time of a scene."""

    def __init__(self, scene):
        self.scene = scene
        self.random = random.Random(scene.name)
        self.ground = self.draw_ground()
        self.leaves = [self.draw_leaf() for _ in range(14)]
        self.grain = Image.merge("RGB", [noise(self.random, (WIDTH, HEIGHT), 3 * scene.noise) for _ in range(3)])

    def draw_ground(self):
        dice = self.random
        tints = ((70, 98, 52), (96, 122, 70), (58, 74, 46))
        ground = Image.new("RGB", (WIDTH, HEIGHT), dice.choice(tints))
        for size, strength in ((12, 0.35), (40, 0.3), (120, 0.2)):
            cells = (max(2, WIDTH // size), max(2, HEIGHT // size))
            brightness = noise(dice, cells, 110)
            cloud = Image.merge("RGB", [brightness.point([round(value * share) for value in range(256)])
                                        for share in (0.8, 1.0, 0.6)])
            ground = Image.blend(ground, cloud.resize((WIDTH, HEIGHT), Image.BICUBIC), strength)
        pen = ImageDraw.Draw(ground)
        pen.rectangle((0, HEIGHT * 0.82, WIDTH, HEIGHT * 0.86), fill=(112, 86, 60))
        pen.rectangle((WIDTH * 0.49, HEIGHT * 0.82, WIDTH * 0.51, HEIGHT), fill=(90, 68, 48))
        return ground.filter(ImageFilter.GaussianBlur(1.2))

    def draw_leaf(self):
        dice = self.random
        size = dice.randint(24, 64)
        leaf = Image.new("RGBA", (size, size), (0, 0, 0, 0))
        green = (dice.randint(40, 110), dice.randint(80, 150), dice.randint(30, 70), 235)
        ImageDraw.Draw(leaf).ellipse((2, size * 0.3, size - 2, size * 0.7), fill=green)
        leaf = leaf.rotate(dice.randint(0, 180))
        edge = dice.choice((0.04, 0.1, 0.85, 0.93))
        return leaf, edge * WIDTH, dice.uniform(0.02, 0.9) * HEIGHT, dice.uniform(0.7, 2.1), dice.uniform(0, 6)

    def at(self, t):
        scene = self.scene
        picture = self.ground.copy()
        gust = 0.55 + 0.45 * math.sin(t / 3.1)
        for leaf, x, y, period, phase in self.leaves:
            sway = scene.wind * gust * math.sin(2 * math.pi * t / period + phase)
            picture.paste(leaf, (round(x + sway), round(y + sway * 0.4)), leaf)
        return picture

    def finish(self, picture, t):
        scene = self.scene
        pen = ImageDraw.Draw(picture)
        for _ in range(scene.rain):
            x, y, length = self.random.randrange(WIDTH), self.random.randrange(HEIGHT), self.random.randint(10, 26)
            pen.line((x, y, x + 2, y + length), fill=(190, 196, 200))
        light = 1 + scene.light * math.sin(t / 4.3) * math.sin(t / 1.7 + 1)
        if scene.night:
            picture = picture.convert("L").convert("RGB")
            light *= 0.45
        picture = picture.point([min(255, round(value * light)) for value in range(256)] * 3)
        offset = self.random.randrange(WIDTH), self.random.randrange(HEIGHT)
        picture = ImageChops.add(picture, ImageChops.offset(self.grain, *offset), 1, -128)
        if scene.thing == "overlay":
            pen = ImageDraw.Draw(picture)
            pen.rectangle((8, 8, 330, 44), fill=(0, 0, 0))
            pen.text((14, 10), f"2026-05-04 06:{int(t) // 60:02}:{int(t) % 60:02}", fill=(255, 255, 255), font_size=28)
        return picture


def open_photo(path, height):
    """As a person sees it, in RGB."""
    photo = Image.open(path)
    photo.draft("RGB", (2 * height, 2 * height))
    if photo.mode.startswith("I;16"):
        photo = photo.point(lambda value: value / 257).convert("L")
    return ImageOps.exif_transpose(photo).convert("RGB")


class Bird:
    """A photograph, cut out softly, and where it is at a time of its stay."""

    def __init__(self, stay, corpus):
        self.stay = stay
        photo = open_photo(corpus / stay.photo, round(HEIGHT * stay.height))
        height = round(HEIGHT * stay.height)
        width = min(round(photo.width * height / photo.height), round(1.4 * height))
        scale = max(width / photo.width, height / photo.height)
        photo = photo.resize((math.ceil(photo.width * scale), math.ceil(photo.height * scale)), Image.LANCZOS)
        left = (photo.width - width) // 2
        self.picture = photo.crop((left, 0, left + width, height))
        soft = Image.new("L", (width, height), 0)
        room = max(2, height // 16)
        ImageDraw.Draw(soft).rounded_rectangle((room, room, width - room, height - room), min(width, height) // 3, 255)
        self.mask = soft.filter(ImageFilter.GaussianBlur(room * 0.6))
        self.from_left = stay.x < 0.5

    def paste(self, picture, t):
        stay = self.stay
        if not stay.begin <= t < stay.end:
            return
        width, height = self.picture.size
        x, y = stay.x * WIDTH, stay.y * HEIGHT
        away = max(0.0, 1 - (t - stay.begin + 1 / FPS) / FLIGHT, 1 - (stay.end - t) / FLIGHT)
        side = -width if self.from_left else WIDTH + width
        x, y = x + away * (side - x), y - away * 0.3 * HEIGHT
        step = int((t - stay.begin) / (1.7 if stay.hops else 7.0))
        dice = random.Random(f"{stay.photo} {step}")
        reach = 0.12 * height if stay.hops else 2.0
        x, y = x + dice.uniform(-reach, reach), y + dice.uniform(-reach, reach) * 0.3
        left, top = round(x - width / 2), round(y - height / 2)
        if away == 0:
            left = min(max(left, 0), max(0, WIDTH - width))
            top = min(max(top, 0), HEIGHT - height)
        picture.paste(self.picture, (left, top), self.mask)


def draw_thing(scene, picture, t):
    pen = ImageDraw.Draw(picture)
    if scene.thing == "feeder":
        x = WIDTH * 0.5 + 26 * math.sin(2 * math.pi * t / 2.6)
        pen.line((WIDTH * 0.5, 0, x, HEIGHT * 0.25), fill=(40, 40, 40), width=3)
        pen.rectangle((x - 45, HEIGHT * 0.25, x + 45, HEIGHT * 0.6), fill=(150, 60, 50), outline=(90, 40, 30), width=4)
        pen.rectangle((x - 30, HEIGHT * 0.3, x + 30, HEIGHT * 0.55), fill=(196, 170, 120))
    elif scene.thing == "squirrel" and 24 <= t < 54:
        fur = noise(random.Random(int(t)), (220, 190), 60).convert("RGB")
        fur = ImageChops.multiply(fur, Image.new("RGB", fur.size, (200, 140, 95)))
        mask = Image.new("L", fur.size, 0)
        body = ImageDraw.Draw(mask)
        body.ellipse((60, 70, 190, 180), fill=255)
        body.ellipse((150, 40, 215, 105), fill=255)
        body.ellipse((0, 10, 90, 150), fill=255)
        x = WIDTH * 0.35 + 180 * min(1, (t - 24) / 4) + 14 * math.sin(int(t * 0.8))
        picture.paste(fur, (round(x), round(HEIGHT * 0.45)), mask.filter(ImageFilter.GaussianBlur(4)))
    elif scene.thing == "patch":
        strength = max(0.0, math.sin(t / 6.0))
        mask = Image.new("L", picture.size, 0)
        t %= 180
        ImageDraw.Draw(mask).polygon(((300 + 3 * t, 80), (520 + 3 * t, 120), (480 + 3 * t, 400), (250 + 3 * t, 360)),
                                     fill=round(110 * strength))
        picture.paste(Image.new("RGB", picture.size, (255, 244, 200)), (0, 0), mask.filter(ImageFilter.GaussianBlur(6)))


def jpeg_of(picture):
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=80)
    return out.getvalue()


def write_recording(path, frames, size=(WIDTH, HEIGHT)):
    """As camera/stream/recording.h says; `frames`: (seconds, JPEG)."""
    text = b"drawn for tests/bench/field.py"
    with open(path, "wb") as file:
        head = b"\x89KGR\r\n\x1a\n" + struct.pack("<HHIq", 1, 0, len(text), START * 10**9)
        file.write(head + struct.pack("<I", zlib.crc32(text, zlib.crc32(head))) + text)
        count = 0
        for seconds, jpeg in frames:
            at = round(seconds * 1e9)
            head = b"KGFr" + struct.pack("<IQqqHHBBBBI", len(jpeg), count, at, START * 10**9 + at, *size, MJPEG,
                                         0, FULL_RANGE, 0, zlib.crc32(jpeg))
            file.write(head + struct.pack("<I", zlib.crc32(head)) + jpeg)
            count += 1
        head = b"KGEn" + struct.pack("<Q", count)
        file.write(head + struct.pack("<I", zlib.crc32(head)))


def frames_of(scene, corpus):
    garden = Garden(scene)
    birds = [Bird(stay, corpus) for stay in scene.stays]
    for index in range(round(scene.seconds * FPS)):
        t = index / FPS
        picture = garden.at(t)
        draw_thing(scene, picture, t)
        for bird in birds:
            bird.paste(picture, t)
        yield t, jpeg_of(garden.finish(picture, t))


def recording_of(scene, corpus, cache):
    """The scene's file, drawn where the cache has none."""
    what = Path(__file__).read_bytes() + repr(scene).encode()
    path = cache / f"{scene.name}_{hashlib.sha256(what).hexdigest()[:12]}.kgr"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        for old in cache.glob(f"{scene.name}_{'?' * 12}.kgr"):
            old.unlink()
        part = path.with_suffix(f".{os.getpid()}")
        write_recording(part, frames_of(scene, corpus))
        part.rename(path)
    return path
