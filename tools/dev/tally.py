#!/usr/bin/env python3
"""Counts the tests of one suite from what its runner wrote.

  tally.py meson BUILD_DIR      meson-logs/testlog.json; a doctest program counts by its test cases
  tally.py go FILE              output of `go test -json`

Prints `PASSED FAILED SKIPPED` on stdout and one line on stderr for each failure. A test that ran and left no
result counts as failed.
"""
import json
import re
import sys

DOCTEST = re.compile(r"\[doctest\] test cases:\s*(\d+) \|\s*(\d+) passed \|\s*(\d+) failed \|\s*(\d+) skipped")
TAIL_LINES = 40


def fail(name, output):
    print(f"FAILED {name}", file=sys.stderr)
    for line in output.strip().splitlines()[-TAIL_LINES:]:
        print(f"  | {line}", file=sys.stderr)


def json_lines(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue  # the runner was killed in mid-line, or a program wrote beside the JSON
    except FileNotFoundError:
        return


def meson(build_dir):
    with open(f"{build_dir}/meson-info/intro-tests.json", encoding="utf-8") as file:
        expected = {test["name"] for test in json.load(file)}
    passed = failed = skipped = 0
    for test in json_lines(f"{build_dir}/meson-logs/testlog.json"):
        name = test["name"]
        expected -= {name, name.rsplit(" / ", 1)[-1]}
        output = (test.get("stdout") or "") + (test.get("stderr") or "")
        if test["result"] == "SKIP":
            skipped += 1
            continue
        good = test["result"] in ("OK", "EXPECTEDFAIL")
        cases = DOCTEST.search(output)
        if cases:
            passed += int(cases[2])
            failed += int(cases[3])
        else:
            passed += good
        if not good:
            fail(f"{name} ({test['result']})", output)
            # A crash, a leak report or a time-out is a failure beside what the cases say.
            failed += not (cases and int(cases[3]))
    for name in sorted(expected):
        fail(f"{name} (left no result)", "")
        failed += 1
    return passed, failed, skipped


def go(path):
    results = {}
    output = {}
    packages = {}
    for event in json_lines(path):
        key = (event.get("Package") or event.get("ImportPath", "?"), event.get("Test"))
        if event["Action"] in ("output", "build-output"):
            output.setdefault(key, []).append(event.get("Output", ""))
        elif event["Action"] in ("pass", "fail", "skip"):
            (results if key[1] else packages)[key] = event["Action"]
        elif event["Action"] == "run":
            results.setdefault(key, "no result")
    parents = {(package, test.rsplit("/", 1)[0]) for package, test in results if "/" in test}
    failed_names = {key for key, result in results.items() if result in ("fail", "no result")}
    # A parent counts only where it failed and no subtest says why.
    leaves = {key: result for key, result in results.items() if key not in parents}
    blamed = {(package, test) for package, test in failed_names & parents
              if not any(p == package and t.startswith(test + "/") for p, t in failed_names)}
    leaves.update({key: "fail" for key in blamed})
    for key, result in sorted(leaves.items()):
        if result in ("fail", "no result"):
            fail(f"{key[0]} {key[1]} ({result})", "".join(output.get(key, [])))
    counts = [sum(result == "pass" for result in leaves.values()),
              sum(result in ("fail", "no result") for result in leaves.values()),
              sum(result == "skip" for result in leaves.values())]
    # A package that failed without a failed test: it did not build, or crashed outside a test.
    for (package, _), result in sorted(packages.items()):
        if result == "fail" and not any(p == package for p, _ in failed_names):
            text = output.get((package, None), []) + [line for (p, t), lines in output.items()
                                                      if t is None and p.startswith(package + " ") for line in lines]
            fail(f"{package} (package)", "".join(text))
            counts[1] += 1
    return counts


if __name__ == "__main__":
    kinds = {"meson": meson, "go": go}
    if len(sys.argv) != 3 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    print(*kinds[sys.argv[1]](sys.argv[2]))
