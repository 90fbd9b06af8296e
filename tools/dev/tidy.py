#!/usr/bin/env python3
"""Runs clang-tidy over the C++ sources of this repository: tidy.py BUILD_DIR JOBS

Takes the sources from the compile commands of BUILD_DIR, so that only what is built is checked, and each once. What it finds
in a header is shown once, not with each source.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile


def tidy(commands_dir, source):
    done = subprocess.run(["clang-tidy", "--quiet", "-p", commands_dir, source], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def main(build_dir, jobs):
    with open(f"{build_dir}/compile_commands.json", encoding="utf-8") as file:
        commands = json.load(file)
    by_source = {}
    for command in commands:
        source = os.path.normpath(os.path.join(command["directory"], command["file"]))
        if source.endswith(".cpp"):
            by_source[source] = command
    bad = 0
    shown = set()
    with tempfile.TemporaryDirectory() as once, concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        with open(f"{once}/compile_commands.json", "w", encoding="utf-8") as file:
            json.dump(list(by_source.values()), file)
        sources = sorted(by_source)
        for source, (code, output) in zip(sources, pool.map(lambda s: tidy(once, s), sources)):
            if not code:
                continue
            bad += 1
            for finding in re.split(r"\n(?=\S+:\d+:\d+: (?:error|warning))", output.strip()):
                if finding not in shown:
                    shown.add(finding)
                    print(f"{finding}\n")
    print(f"{len(sources)} files, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
