#!/usr/bin/env python3
"""Lists objects of a fixture: objects.py readable|gone OBJECTS_JSONL

readable: `VID,FID SIZE SHA256` of each object that a reader gets whole. gone: the ids of those that have expired.
"""
import json
import sys


def main(what, path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            it = json.loads(line)
            gone = it.get("expired") or it.get("missing")
            if what == "gone" and gone:
                print(it["fid"])
            if what == "readable" and not gone and not it.get("manifest"):
                print(it["fid"], it["size"], it["sha256"])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("readable", "gone"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
