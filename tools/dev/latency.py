#!/usr/bin/env python3
"""Prints `MEDIAN / P99` in microseconds of what is on stdin.

latency.py seconds      a number of seconds on each line
latency.py ring-load    the JSON of ring-load
"""
import json
import sys


def main(kind):
    if kind == "ring-load":
        latency = json.load(sys.stdin)["ops"]["read"]["latency_ns"]
        median, p99 = latency["p50"] / 1e3, latency["p99"] / 1e3
    else:
        times = sorted(float(line) * 1e6 for line in sys.stdin)
        if not times:
            sys.exit("no figures")
        median, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    print(f"{median:.0f} / {p99:.0f}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("seconds", "ring-load"):
        sys.exit(__doc__)
    main(sys.argv[1])
