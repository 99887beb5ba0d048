"""Turns the outcomes of a replay into figures."""

import oracle
from agent_trace import KINDS
from statistics_of import mean, percentile

# Prices of a million output, uncached input and cached input tokens, as the score weighs them.
OUTPUT_WEIGHT, INPUT_WEIGHT, CACHED_WEIGHT = 16.796, 2.799, 0.56
GRANULARITIES = (1, 16, 64)
MOST_RERUN = 64  # tokens of a hit that may be computed again


def _spread(values, factor=1.0):
    return {f"p{round(100 * share)}": round(percentile(values, share) * factor, 3)
            for share in (0.5, 0.9, 0.99)}


def _hits(rows):
    """`rows` are (shared, prompt, cached) of requests."""
    out = {"requests": len(rows), "prompt": sum(r[1] for r in rows),
           "cached": sum(r[2] for r in rows)}
    for granularity in GRANULARITIES:
        best = sum(oracle.reusable(shared, prompt, granularity) for shared, prompt, _ in rows)
        out[f"reusable_{granularity}"] = best
        out[f"hit_of_reusable_{granularity}"] = round(out["cached"] / best, 4) if best else None
    rerun = [oracle.reusable(shared, prompt, 1) - cached for shared, prompt, cached in rows
             if shared >= MOST_RERUN]
    out["rerun"] = _spread(rerun)
    out["rerun_at_most_64"] = round(mean([float(r < MOST_RERUN) for r in rerun]), 4)
    return out


def _rates(good, seconds):
    output = sum(o.output_tokens for o in good) / seconds
    cached = sum(o.cached_tokens for o in good) / seconds
    fresh = sum(o.prompt_tokens - o.cached_tokens for o in good) / seconds
    score = OUTPUT_WEIGHT * output + INPUT_WEIGHT * fresh + CACHED_WEIGHT * cached
    return {"output_tokens_s": round(output, 1), "input_tokens_s": round(fresh, 1),
            "cached_tokens_s": round(cached, 1), "score": round(score, 1)}


def _beside_long(trace, good):
    """Of a trace with a long prompt: the streams' waits that fell, at least in part, between its
    sending and its first token, by the tokens that came; how long that took; the waits before."""
    long = [r.id for r in trace.requests if r.kind == "long" and r.id in good]
    if not long or len(good) == 1:
        return {}
    begin, end = good[long[0]].sent, good[long[0]].first
    waits = [wait for i, o in good.items() if i not in long for wait in o.waits()]
    beside = [(b - a) / tokens for a, b, tokens in waits if b > begin and a < end]
    if not beside:
        return {"beside_long_gaps": 0}
    return {"beside_long_ms": {**_spread(beside, 1e3), "max": round(max(beside) * 1e3, 3)},
            "beside_long_gaps": len(beside), "long_seconds": round(end - begin, 3),
            "before_long_ms": _spread([(b - a) / n for a, b, n in waits if b <= begin], 1e3)}


def summarise(trace, outcomes, seconds, prompts):
    """`prompts` maps a request id to its token ids."""
    good = {i: o for i, o in outcomes.items() if not o.error}
    events = [(o.sent, "start", i) for i, o in good.items()]
    events += [(o.ended, "end", i) for i, o in good.items()]
    shared = oracle.shared_prefixes(events, {i: (prompts[i], prompts[i]) for i in good})
    rows = {i: (shared[i], len(prompts[i]), o.cached_tokens) for i, o in good.items()}
    kinds = {r.id: r.kind for r in trace.requests}
    answered = [o for o in good.values() if o.times]
    errors = {}
    for outcome in outcomes.values():
        if outcome.error:
            errors[outcome.error] = errors.get(outcome.error, 0) + 1
    gaps = [gap for o in answered for gap in o.gaps()]
    return {
        "seconds": round(seconds, 2), "requests": len(outcomes), "good": len(good),
        "errors": errors, **_rates(good.values(), seconds), "hits": _hits(list(rows.values())),
        "by_kind": {kind: _hits([rows[i] for i in rows if kinds[i] == kind]) for kind in KINDS
                    if any(kinds[i] == kind for i in rows)},
        "ttft_ms": _spread([o.first - o.sent for o in answered], 1e3),
        "gap_ms": _spread(gaps, 1e3),
        "turn_ms": _spread([o.ended - o.sent for o in good.values()], 1e3),
        "tokens_per_event": round(sum(o.output_tokens for o in answered)
                                  / max(1, sum(len(o.times) for o in answered)), 3),
        "events_after_finish": sum(o.after_finish for o in good.values()),
        **_beside_long(trace, good),
        "prompt_length_off": sum(o.prompt_tokens != len(prompts[i]) for i, o in good.items())}


def _percent(value):
    return "    -  " if value is None else f"{value:7.2%}"


def as_text(result):
    lines = [
        f"{result['good']} of {result['requests']} requests answered in {result['seconds']} s; "
        f"events behind a finish reason: {result['events_after_finish']}",
        *(f"  {count} x {error}" for error, count in result["errors"].items()),
        f"tokens/s: output {result['output_tokens_s']}, input {result['input_tokens_s']}, cached "
        f"{result['cached_tokens_s']}; score {result['score']}"]
    for name, title in (("ttft_ms", "first token"), ("gap_ms", "between events"),
                        ("turn_ms", "whole turn")):
        spread = result[name]
        lines.append(f"{title}: p50 {spread['p50']:.1f}, p90 {spread['p90']:.1f}, "
                     f"p99 {spread['p99']:.1f} ms")
    if result.get("beside_long_gaps") == 0:
        lines.append("the streams had ended before the long prompt came: make them longer")
    elif "long_seconds" in result:
        before, beside = result["before_long_ms"], result["beside_long_ms"]
        lines.append(
            f"beside the long prompt, whose first token took {result['long_seconds']:.1f} s: "
            f"p50 {beside['p50']:.1f}, p90 {beside['p90']:.1f}, p99 {beside['p99']:.1f}, max "
            f"{beside['max']:.1f} ms a token ({result['beside_long_gaps']} waits); before "
            f"it p50 {before['p50']:.1f}, p99 {before['p99']:.1f} ms")
    lines.append(f"tokens an event: {result['tokens_per_event']}; prompts whose length differs "
                 f"from the oracle's tokens: {result['prompt_length_off']}")
    lines.append(f"{'':9} {'requests':>8} {'prompt':>11} {'reusable':>11} {'cached':>11}  "
                 "of reusable at 1 / 16 / 64  re-run p50 / p99, < 64")
    for name, hits in (("all", result["hits"]), *result["by_kind"].items()):
        shares = " ".join(_percent(hits[f"hit_of_reusable_{g}"]) for g in GRANULARITIES)
        lines.append(f"{name:9} {hits['requests']:8} {hits['prompt']:11} {hits['reusable_1']:11} "
                     f"{hits['cached']:11}  {shares}     {hits['rerun']['p50']:.0f} / "
                     f"{hits['rerun']['p99']:.0f}, {hits['rerun_at_most_64']:.1%}")
    return "\n".join(lines)
