#!/usr/bin/env python3
"""Runs clang-tidy over the C++ sources of this repository: tidy.py BUILD_DIR JOBS

Takes the sources from the compile commands of BUILD_DIR, so that only what is built is checked.
"""
import concurrent.futures
import json
import subprocess
import sys


def tidy(build_dir, source):
    done = subprocess.run(["clang-tidy", "--quiet", "-p", build_dir, source], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def main(build_dir, jobs):
    with open(f"{build_dir}/compile_commands.json", encoding="utf-8") as file:
        commands = json.load(file)
    sources = sorted({command["file"] for command in commands if command["file"].endswith(".cpp")})
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        for source, (code, output) in zip(sources, pool.map(lambda s: tidy(build_dir, s), sources)):
            if code:
                bad += 1
                print(f"{source}\n{output}")
    print(f"{len(sources)} files, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
