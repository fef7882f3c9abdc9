#!/usr/bin/env python3
"""peer.py FOLDER NAME: a member of a bus that follows the page "The frames of a bus", and never becomes the hub.

FOLDER is that of the bus itself. Each line of the input is a command: `hear PATTERN`, `answer PATTERN`,
`post SUBJECT TEXT`, `ask SUBJECT TEXT`, `flush`. It answers a request with the text in capitals."""

import fcntl, os, random, selectors, socket, struct, sys, time

VERSION = 6

def text(value):
    return struct.pack("<I", len(value.encode())) + value.encode()

def array(values):
    return struct.pack("<I", len(values)) + b"".join(values)

class Fields:
    def __init__(self, data):
        self.data = data

    def take(self, form):
        size = struct.calcsize("<" + form)
        values, self.data = struct.unpack("<" + form, self.data[:size]), self.data[size:]
        return values if len(values) > 1 else values[0]

    def text(self):
        return self.take(f"{self.take('I')}s").decode()

class Peer:
    def __init__(self, folder, name):
        self.folder, self.name, self.id = folder, name, random.randrange(1, 1 << 64)
        self.bus, self.position, self.heard, self.recoveries = 0, (0, 0), {}, []
        self.pause, self.number, self.posted = 0.01, 0, {}  # what is not known to have a position
        self.subscriptions, self.answers, self.correlation, self.waiting = [], [], 0, []
        # Who has this lock is waited for when the hub changes.
        self.lock = os.open(f"{folder}/member.{self.id:x}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def join(self):
        self.input, self.is_open, self.socket = b"", False, None
        while self.socket is None:
            self.pause = time.sleep(self.pause) or min(2 * self.pause, 1)  # a full hub closes without a word
            hubs = [name[4:-5] for name in os.listdir(self.folder) if name.endswith(".lock") and name[:4] == "hub."]
            try:
                self.socket = socket.socket(socket.AF_UNIX)
                self.socket.connect(f"{self.folder}/hub.{max(hubs, key=lambda name: int(name, 36))}.sock")
                self.say(1, struct.pack("<IQQ", VERSION, self.bus, self.id) + text(self.name)
                         + struct.pack("<IBQQQ", os.getpid(), 0, 8 << 20, *self.position)
                         + array(self.recoveries) + struct.pack("<QQQQ", 0, 0, 0, 0)
                         + array([text(pattern) + text("") for pattern in self.subscriptions])
                         + array([text(pattern) for pattern in self.answers]))
            except (OSError, ValueError):  # also if the hub ends after it was connected to
                self.socket = None

    def say(self, kind, fields):
        self.socket.sendall(struct.pack("<IB", len(fields) + 1, kind) + fields)

    def send(self, kind, fields):
        self.say(kind, fields) if self.is_open else self.waiting.append((kind, fields))

    def command(self, name, word="", rest=""):
        if name == "hear":
            self.subscriptions.append(word)
            self.send(2, text(word) + text(""))
        elif name == "answer":
            self.answers.append(word)
            self.send(4, text(word))
        elif name == "post":
            self.number += 1
            self.posted[self.number] = struct.pack("<QQQQ", self.id, self.number, 0, 0) + text(word) \
                + struct.pack("<II", 0, 0) + text(rest)
            if self.is_open:
                self.say(6, self.posted[self.number])
        elif name == "ask":
            self.correlation += 1
            self.send(8, struct.pack("<QQ", self.correlation, self.id) + text(word) + struct.pack("<I", 0)
                      + text(rest) + struct.pack("<I", 30_000))
        elif name == "flush":
            self.send(12, struct.pack("<Q", 1))

    def frame(self, kind, fields):
        if kind == 1:  # welcome
            _, bus = fields.take("QQ")
            if bus != self.bus:
                self.bus, self.position, self.recoveries = bus, (0, 0), []
        elif kind == 2:  # collect
            for message in self.posted.values():
                self.say(10, struct.pack("<BQQ", 0, *self.position) + message)
            self.say(11, struct.pack("<QQQ", fields.take("Q"), 0, 0))
        elif kind == 3:  # message
            sender, number, *position = fields.take("QQQQ")
            subject, _ = fields.text(), fields.take("I")
            _ = [fields.take("Q") for _ in range(fields.take("I"))]
            self.advance(position)
            if number > self.heard.get(sender, 0):
                self.heard[sender] = number
                print("heard", subject, fields.text(), flush=True)
        elif kind == 5:  # open
            *position, known = fields.take("QQQ")
            self.recoveries = self.recoveries[-7:] + [fields.data]
            self.is_open, self.pause = True, 0.01
            self.advance(position)
            self.sequenced(known)
            for frame in [(6, message) for message in self.posted.values()] + self.waiting:
                self.say(*frame)
            self.waiting = []
        elif kind == 6:  # sequenced
            sender, first, count = fields.take("QQI")
            self.sequenced(first + count - 1 if sender == self.id else 0)
        elif kind == 7:  # request
            correlation, sender, _, _ = *fields.take("QQ"), fields.text(), fields.take("I")
            self.say(9, struct.pack("<QQB", sender, correlation, 0) + text(fields.text().upper()))
        elif kind == 8:  # reply
            print("answered" if fields.take("QB")[1] == 0 else "failed", fields.text(), flush=True)
        elif kind == 10:
            print("flushed", flush=True)
        elif kind == 11:  # ping
            self.advance(fields.take("QQ"))

    def advance(self, position):
        self.position = max(self.position, tuple(position)) if self.is_open else self.position

    def sequenced(self, number):
        self.posted = {key: message for key, message in self.posted.items() if key > number}

    def read(self):
        self.input += (data := self.socket.recv(1 << 16))
        while len(self.input) >= 4 and len(self.input) >= 4 + (size := struct.unpack("<I", self.input[:4])[0]):
            frame, self.input = self.input[4:4 + size], self.input[4 + size:]
            self.frame(frame[0], Fields(frame[1:]))
        if not data:
            raise OSError("The hub has ended")
        self.say(13, struct.pack("<QQ", *self.position))  # pong

peer, lines = Peer(sys.argv[1], sys.argv[2]), open(0, "rb", buffering=0)
peer.join()
while True:
    ready = selectors.DefaultSelector()
    ready.register(lines, selectors.EVENT_READ)
    ready.register(peer.socket, selectors.EVENT_READ)
    for key, _ in ready.select():
        try:
            if key.fileobj is not lines:
                peer.read()
            elif line := lines.readline():
                peer.command(*line.decode().rstrip("\n").split(" ", 2))
            else:
                sys.exit()
        except OSError:
            peer.join()
