#!/usr/bin/env python3
"""Writes a SeaweedFS volume of random objects: make_volume.py FOLDER VOLUME SIZE...

FOLDER/VOLUME.dat, .idx and .vif are as a volume server (format version 3) leaves them on disk. Prints a line
`VID,FID SIZE SHA256` for each object.
"""
import hashlib
import json
import os
import struct
import sys
import time

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def record(key, cookie, data):
    body = struct.pack(">I", len(data)) + data + b"\0"  # data size, data, flags
    head = struct.pack(">IQI", cookie, key, len(body))
    tail = struct.pack(">IQ", crc32c(data), time.time_ns())
    padding = 8 - (len(head) + len(body) + len(tail)) % 8  # 1 to 8 bytes, never 0
    return head + body + tail + b"\0" * padding, len(body)


def main(folder, volume, sizes):
    with open(f"{folder}/{volume}.dat", "wb") as dat, open(f"{folder}/{volume}.idx", "wb") as idx:
        dat.write(struct.pack(">BBHHH", 3, 0, 0, 0, 0))
        for key, size in enumerate(sizes, start=1):
            data = os.urandom(size)
            cookie = int.from_bytes(os.urandom(4), "big")
            entry, body_size = record(key, cookie, data)
            idx.write(struct.pack(">QII", key, dat.tell() // 8, body_size))
            dat.write(entry)
            key_hex = f"{key:x}"
            key_hex = key_hex.zfill(len(key_hex) + len(key_hex) % 2)
            print(f"{volume},{key_hex}{cookie:08x} {size} {hashlib.sha256(data).hexdigest()}")
    with open(f"{folder}/{volume}.vif", "w", encoding="ascii") as vif:
        json.dump({"version": 3, "bytesOffset": 4}, vif)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), [int(size) for size in sys.argv[3:]])
