# SPDX-License-Identifier: Apache-2.0
"""Cameras, and whoever else answers WS-Discovery, on the network of home_network.py."""
import socket
import struct
import threading
from xml.dom import minidom

import home_network

IP_RECVTTL = 12  # linux/in.h: Python has no name for it
GROUP = "239.255.255.250"
MATCH = """<d:ProbeMatch><a:EndpointReference><a:Address>urn:uuid:{address}</a:Address></a:EndpointReference>
<d:Types>{types}</d:Types><d:Scopes>onvif://www.onvif.org/type/video_encoder onvif://www.onvif.org/name/{name}
 onvif://www.onvif.org/hardware/{hardware}</d:Scopes><d:XAddrs>http://{host}/onvif/device_service
http://192.168.9.9/elsewhere</d:XAddrs><d:MetadataVersion>1</d:MetadataVersion></d:ProbeMatch>"""
ANSWER = """<?xml version="1.0" encoding="utf-8"?>{dtd}
<!-- a camera --><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery"
 xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing"><s:Header><a:RelatesTo>{id}</a:RelatesTo></s:Header>
<s:Body><d:ProbeMatches>{matches}</d:ProbeMatches></s:Body></s:Envelope>"""


def answer(question, address, name="Garden", hardware="IPC-1", types="dn:NetworkVideoTransmitter tds:Device", dtd="", asked=None):
    match = MATCH.format(address=address, name=name, hardware=hardware, types=types, host=address)
    return ANSWER.format(id=asked or question, matches=match, dtd=dtd).encode()


class Neighbours:
    """Whoever is on the net: `answers(question)` gives (address, bytes) for each question to all, or to the one `address`; `seen`
    are the questions."""

    def __init__(self, answers, address=GROUP):
        self.answers = answers
        self.seen = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((address, 3702))
        membership = struct.pack("4s4s", socket.inet_aton(GROUP), socket.inet_aton(home_network.HERE))
        if address == GROUP:
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
        self.socket.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
        self.socket.settimeout(0.1)
        self.gone = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.gone.is_set():
            try:
                data, hops, _, asker = self.socket.recvmsg(65536, 64)
            except TimeoutError:
                continue
            document = minidom.parseString(data)  # well-formed, or the test ends here
            question = document.getElementsByTagName("w:MessageID")[0].firstChild.data
            self.seen.append((question, struct.unpack("i", hops[0][2])[0], document))
            for address, words in self.answers(question):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as voice:
                    voice.bind((address, 0))
                    voice.sendto(words, asker)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gone.set()
        self.thread.join()
        self.socket.close()
