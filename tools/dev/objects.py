#!/usr/bin/env python3
"""Lists objects of a fixture: objects.py readable|stored|gone OBJECTS_JSONL

readable: `VID,FID SIZE SHA256` of each object that a reader gets whole. stored: the same of the bytes in the volume, some
packed, without those of which that is not known. gone: the ids of those that have expired.
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
            if what == "gone" or gone or it.get("manifest"):
                continue
            packed = what == "stored" and it.get("gzip")
            if what == "stored" and "may have packed" in it["what"]:
                continue
            print(it["fid"], it["stored_size" if packed else "size"], it["stored_sha256" if packed else "sha256"])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("readable", "stored", "gone"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
