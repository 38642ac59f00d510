# SPDX-License-Identifier: Apache-2.0
"""A USB camera (UVC 1.1, high speed, frames through a bulk endpoint) at the far side of QEMU's usb-redir device (usbredir's
protocol). All above the cable is real in the machine: xHCI driver, USB core, uvcvideo, libcamera."""
import collections
import functools
import io
import select
import socket
import struct
import threading
import time

HELLO, CONNECT, INTERFACES, ENDPOINTS = 0, 1, 4, 5
SET_CONFIGURATION, GET_CONFIGURATION, CONFIGURATION_STATUS = 6, 7, 8
SET_ALTERNATE, GET_ALTERNATE, ALTERNATE_STATUS, CANCEL, CONTROL, BULK = 9, 10, 11, 21, 100, 101
CAPABILITIES = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6  # device version, packet sizes, 64-bit ids, long transfers: for xHCI
DONE, CANCELLED, STALL = 0, 1, 4
HIGH_SPEED = 2
VENDOR, PRODUCT = 0x1209, 0x0001  # pid.codes has this one for tests
NAMES = ["", "kinglet", "Feeder camera", "1"]
STREAM = 0x81       # the endpoint
PAYLOAD = 16384     # a transfer: two bytes of header, then a part of a frame
END_OF_HEADER, END_OF_FRAME = 0x80, 0x02
INTERVAL = 2_000_000  # 100 ns: five frames a second
FRAMES_EACH = 10      # of a picture, before the next one
SIZES = [(320, 240), (1280, 720)]
MJPEG, YUYV = 1, 2    # numbers of the formats
YUY2 = bytes.fromhex("5955593200001000800000aa00389b71")
SET_CUR, GET_LENGTH, GET_INFO = 0x01, 0x85, 0x86


def block(layout, *values):
    """A descriptor behind its length."""
    body = struct.pack("<" + layout, *values)
    return bytes([len(body) + 1]) + body


def frame_descriptors(subtype):
    return b"".join(block("BBBBHHIIIIBI", 0x24, subtype, i + 1, 0, width, height, 1, width * height * 80, width * height * 2,
                          INTERVAL, 1, INTERVAL) for i, (width, height) in enumerate(SIZES))


def configuration_descriptor():
    """Interface 0 controls (camera, processing, output), interface 1 streams."""
    units = (block("BBBHBBHHHB3s", 0x24, 2, 1, 0x0201, 0, 0, 0, 0, 0, 3, bytes(3))
             + block("BBBBHB2sBB", 0x24, 5, 2, 1, 0, 2, bytes(2), 0, 0)
             + block("BBBHBBB", 0x24, 3, 3, 0x0101, 0, 2, 0))
    control = (block("BBBBBBBB", 4, 0, 0, 0, 14, 1, 0, 2)
               + block("BBHHIBB", 0x24, 1, 0x0110, 13 + len(units), 48_000_000, 1, 1) + units)
    formats = (block("BBBBBBBBBB", 0x24, 6, MJPEG, len(SIZES), 1, 1, 0, 0, 0, 0) + frame_descriptors(7)
               + block("BBBB16sBBBBBB", 0x24, 4, YUYV, len(SIZES), YUY2, 16, 1, 0, 0, 0, 0) + frame_descriptors(5)
               + block("BBBBB", 0x24, 13, 1, 1, 4))  # colours: BT.601
    stream = (block("BBBBBBBB", 4, 1, 0, 1, 14, 2, 0, 0)
              + block("BBBHBBBBBBBBB", 0x24, 1, 2, 15 + len(formats), STREAM, 0, 3, 0, 0, 0, 1, 0, 0) + formats
              + block("BBBHB", 5, STREAM, 2, 512, 0))
    parts = block("BBBBBBB", 11, 0, 2, 14, 3, 0, 2) + control + stream
    return struct.pack("<BBHBBBBB", 9, 2, 9 + len(parts), 2, 1, 0, 0x80, 250) + parts


def to_jpeg(picture):
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=90)
    return out.getvalue()


def to_yuyv(picture):
    """BT.601, limited range."""
    y, cb, cr = picture.convert("YCbCr").split()
    out = bytearray(2 * picture.width * picture.height)
    out[0::2] = y.point(lambda value: round(16 + value * 219 / 255)).tobytes()
    out[1::4] = cb.point(lambda value: round(128 + (value - 128) * 224 / 255)).tobytes()[::2]
    out[3::4] = cr.point(lambda value: round(128 + (value - 128) * 224 / 255)).tobytes()[::2]
    return bytes(out)


class UsbCamera:
    """Plugged in from its making to unplug(); shows `pictures` (of PIL) in turn. `port`: QEMU's socket."""

    def __init__(self, port, pictures):
        self.pictures = pictures
        self.encoded = functools.lru_cache(self.encode)
        self.silent = threading.Event()  # while set it stays plugged in and sends nothing
        self.cut = threading.Event()     # while set half of each picture is missing
        self.format, self.size = MJPEG, 0
        self.frame_number = 0
        self.next_frame = 0.0
        self.wanted = collections.deque()  # transfers that the machine waits for
        self.parts = collections.deque()   # of the frame that is being sent
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(port)
        self.unplugged = threading.Event()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def unplug(self):
        self.unplugged.set()
        self.thread.join()
        self.socket.close()

    def encode(self, index, size, form):
        picture = self.pictures[index].convert("RGB").resize(SIZES[size])
        return to_jpeg(picture) if form == MJPEG else to_yuyv(picture)

    def send(self, kind, number, body):
        self.socket.sendall(struct.pack("<IIQ", kind, len(body), number) + body)

    def serve(self):
        hello = b"kinglet".ljust(64, b"\0") + struct.pack("<I", CAPABILITIES)
        self.socket.sendall(struct.pack("<III", HELLO, len(hello), 0) + hello)
        received, header = b"", struct.Struct("<III")
        while not self.unplugged.is_set():
            if select.select([self.socket], [], [], 0.02)[0]:
                chunk = self.socket.recv(65536)
                if not chunk:
                    return
                received += chunk
            while len(received) >= header.size:
                kind, length, number = header.unpack_from(received)
                end = header.size + length
                if len(received) < end:
                    break
                self.answer(kind, number, received[header.size:end])
                received, header = received[end:], struct.Struct("<IIQ")
            self.stream()

    def answer(self, kind, number, body):
        if kind == HELLO:
            self.plug_in()
        elif kind == CONTROL:
            self.control(number, body)
        elif kind == BULK:
            self.wanted.append(number)
        elif kind == CANCEL and number in self.wanted:
            self.wanted.remove(number)
            self.transfer(number, CANCELLED, b"")
        elif kind in (SET_CONFIGURATION, GET_CONFIGURATION):
            self.send(CONFIGURATION_STATUS, number, bytes([DONE, 1]))
        elif kind in (SET_ALTERNATE, GET_ALTERNATE):
            self.send(ALTERNATE_STATUS, number, bytes([DONE, body[0], 0]))

    def plug_in(self):
        def table(values, absent=0):
            return [values.get(i, absent) for i in range(32)]
        self.send(INTERFACES, 0, struct.pack("<I128B", 2, *table({1: 1}), *table({0: 14, 1: 14}), *table({0: 1, 1: 2}),
                                             *table({})))
        stream = 16 | STREAM & 15
        self.send(ENDPOINTS, 0, struct.pack("<96B32H", *table({0: 0, 16: 0, stream: 2}, 255), *table({}), *table({stream: 1}),
                                            *table({0: 64, 16: 64, stream: 512})))
        self.send(CONNECT, 0, struct.pack("<BBBBHHH", HIGH_SPEED, 0xEF, 2, 1, VENDOR, PRODUCT, 0x0100))

    def control(self, number, body):
        endpoint, request, kind, _, value, index, length = struct.unpack_from("<BBBBHHH", body)
        data = self.reply(kind, request, value, index, body[10:])
        status = STALL if data is None else DONE
        data = (data or b"")[:length]
        told = length if kind & 0x80 == 0 and status == DONE else len(data)
        self.send(CONTROL, number, struct.pack("<BBBBHHH", endpoint, request, kind, status, value, index, told) + data)

    def reply(self, kind, request, value, index, data):
        """To a control transfer; None: the camera knows nothing of it."""
        if (kind, request) == (0x80, 6):
            return self.descriptor(value >> 8, value & 0xFF)
        if (kind, request) == (0x80, 0):
            return bytes(2)  # status
        if kind in (0x00, 0x02):
            return b""  # features, halts
        if index & 0xFF == 1 and value >> 8 in (1, 2):  # what is streamed: probe, commit
            if (kind, request) == (0x21, SET_CUR):
                self.format = data[2] if data[2] in (MJPEG, YUYV) else MJPEG
                self.size = data[3] - 1 if 0 < data[3] <= len(SIZES) else 0
                return b""
            if kind == 0xA1:
                return {GET_LENGTH: struct.pack("<H", 34), GET_INFO: b"\3"}.get(request, self.probe())
        return None

    @staticmethod
    def descriptor(kind, index):
        if kind == 1:
            return struct.pack("<BBHBBBBHHHBBBB", 18, 1, 0x0200, 0xEF, 2, 1, 64, VENDOR, PRODUCT, 0x0100, 1, 2, 3, 1)
        if kind == 2:
            return configuration_descriptor()
        if kind == 3 and index == 0:
            return bytes([4, 3, 9, 4])  # English
        if kind == 3 and index < len(NAMES):
            return bytes([2 + 2 * len(NAMES[index]), 3]) + NAMES[index].encode("utf-16-le")
        return None

    def probe(self):
        width, height = SIZES[self.size]
        return struct.pack("<HBBIHHHHHIIIBBBB", 1, self.format, self.size + 1, INTERVAL, 0, 0, 0, 0, 0, width * height * 2,
                           PAYLOAD, 48_000_000, 3, 0, 1, 1)

    def transfer(self, number, status, data):
        self.send(BULK, number, struct.pack("<BBHIH", STREAM, status, len(data), 0, 0) + data)

    def stream(self):
        """Answers the transfers that wait, with nothing before the next frame is due."""
        while self.wanted and not self.silent.is_set():
            if not self.parts:
                if time.monotonic() < self.next_frame:
                    return
                self.next_frame = time.monotonic() + INTERVAL / 1e7
                self.divide_frame()
            self.transfer(self.wanted.popleft(), DONE, self.parts.popleft())

    def divide_frame(self):
        frame = self.encoded(self.frame_number // FRAMES_EACH % len(self.pictures), self.size, self.format)
        if self.cut.is_set():
            frame = frame[:len(frame) // 2]
        room = PAYLOAD - 2
        for start in range(0, len(frame), room):
            last = END_OF_FRAME if start + room >= len(frame) else 0
            self.parts.append(bytes([2, END_OF_HEADER | self.frame_number & 1 | last]) + frame[start:start + room])
        self.frame_number += 1
