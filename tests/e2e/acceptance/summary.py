"""Counts at the end of a run how many acceptance checks, extensions and kinds of faults passed, and
writes them to a file if asked. A kind passes when all its tests that were selected did and none of
them is marked `refused` or `limited`; one of which no test ran counts as not passed."""

import json
import pathlib

import pytest


def numbered(letter, numbers):
    return [f"{letter}{number:02d}" for number in numbers]


T2 = ([f"t2_temperature_{v}" for v in ("0_0", "1_0", "1_1", "2_0")] +
      [f"t2_top_p_{v}" for v in ("0_0", "0_01", "0_95", "1_0", "1_1")] +
      [f"t2_{kind}_penalty_{v}" for kind in ("frequency", "presence") for v in ("neg2", "0", "2")] +
      ["t2_n_1", "t2_n_2"])
T3 = [f"t3_max_tokens_{v}" for v in ("none", "1", "64", "mid", "max", "neg1", "over")]
NOT_COUNTED = ["d08", "d09", "t11a", "t11b", "t16b"]
KINDS = {
    "check": numbered("d", range(1, 11)) + ["t1a", "t1b", "t1c"] + T2 + T3 +
             ["t4a", "t4b", "t5", "t6", "t7", "t8", "t9", "t10", "t11a", "t11b", "t12_chinese",
              "t12_japanese", "t12_emoji", "t13", "t14", "t15", "t16a", "t16b", "t16c"],
    "extension": numbered("E", range(1, 51)),
    "fault": numbered("F", [1, 2, 3, 4, 5, 7, 8, 10, 12, 13, 14, 15, 16, 17, 20, 21, 23, 24, 25, 26,
                            28, 29, 32, 33, 34, 35, 36, 38, 39, 40, 42, 43, 44, 45, 48, 49, 50, 52,
                            53, 54, 55, 56, 58, 59, 60, 61, 62, 63, 65, 67, 68, 69, 70, 72, 73, 74,
                            75, 78]),
}
NAMES = {"check": "acceptance", "extension": "extensions", "fault": "fault kinds"}


def pytest_addoption(parser):
    parser.addoption("--summary-json", metavar="FILE", help="write the counts of kinds to FILE")


class Summary:
    """Collects the outcome of every test under the ids it is marked with."""

    def __init__(self):
        self.tests = {marker: {} for marker in KINDS}
        self.outcomes = {}
        self.marked = {"refused": set(), "limited": set()}

    def add_item(self, item):
        for name, tests in self.tests.items():
            for marker in item.iter_markers(name):
                for kind in marker.args:
                    if kind not in KINDS[name]:
                        raise pytest.UsageError(f"{item.nodeid}: no such {name}: {kind}")
                    tests.setdefault(kind, set()).add(item.nodeid)
        for name, nodes in self.marked.items():
            if item.get_closest_marker(name):
                nodes.add(item.nodeid)

    def status(self, name, kind):
        tests = self.tests[name].get(kind, set())
        if not tests or any(self.outcomes.get(test) is None for test in tests):
            return "not run"
        if not all(self.outcomes[test] for test in tests):
            return "failed"
        for name, nodes in self.marked.items():
            if tests & nodes:
                return name
        return "passed"

    def result(self):
        return {NAMES[name]: {kind: self.status(name, kind) for kind in kinds}
                for name, kinds in KINDS.items()}


def pytest_configure(config):
    config.stash[KEY] = Summary()


KEY = pytest.StashKey()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        config.stash[KEY].add_item(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    outcomes = item.config.stash[KEY].outcomes
    outcomes[item.nodeid] = outcomes.get(item.nodeid, True) and report.passed
    return report


def count(statuses, left_out=()):
    kinds = [kind for kind in statuses if kind not in left_out]
    return f"{sum(statuses[kind] == 'passed' for kind in kinds)}/{len(kinds)}"


def pytest_terminal_summary(terminalreporter, config):
    summary = config.stash[KEY]
    if not any(summary.tests.values()):
        return
    result = summary.result()
    counts = {name: count(statuses) for name, statuses in result.items()}
    counts["acceptance counted"] = count(result["acceptance"], NOT_COUNTED)
    terminalreporter.write_sep("=", "kinds")
    terminalreporter.write_line(
        f"acceptance {counts['acceptance counted']} ({counts['acceptance']}), "
        f"extensions {counts['extensions']}, fault kinds {counts['fault kinds']}")
    for name, statuses in result.items():
        for status in ("failed", "refused", "limited", "not run"):
            kinds = [kind for kind, value in statuses.items() if value == status]
            if kinds:
                terminalreporter.write_line(f"{name} {status}: {' '.join(kinds)}")
    path = config.getoption("--summary-json")
    if path:
        data = {"counts": counts, "kinds": result}
        pathlib.Path(path).write_text(json.dumps(data, indent=1) + "\n")
