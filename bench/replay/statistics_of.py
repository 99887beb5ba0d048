"""What is in a trace, in words, and percentiles for everybody here."""


def percentile(values, share):
    """Nearest rank; of nothing it is 0."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def mean(values):
    return sum(values) / len(values) if values else 0.0


def _share(trace, condition):
    return sum(map(condition, trace.requests)) / len(trace.requests)


def has_tool_messages(trace, request):
    return any(m.role == "tool" for m in trace.prompt_of(request))


def has_several_systems(trace, request):
    return sum(m.role == "system" for m in trace.prompt_of(request)) > 1


def has_images(trace, request):
    return any(run.image for m in trace.prompt_of(request) for run in m.text)


def describe(trace):
    prompts = [r.prompt_tokens for r in trace.requests]
    outputs = [r.output_tokens for r in trace.requests]
    kinds = {}
    for request in trace.requests:
        kinds[request.kind] = kinds.get(request.kind, 0) + 1
    return "\n".join([
        f"requests {len(trace.requests)} of {trace.header['sessions']} sessions: "
        + ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())),
        f"prompt tokens: mean {mean(prompts):.0f}, p50 {percentile(prompts, 0.5)}, "
        f"p90 {percentile(prompts, 0.9)}, max {max(prompts)}, sum {sum(prompts)}",
        f"output tokens: mean {mean(outputs):.0f}, p50 {percentile(outputs, 0.5)}, "
        f"p90 {percentile(outputs, 0.9)}, max {max(outputs)}, sum {sum(outputs)}",
        f"with tool messages {_share(trace, lambda r: has_tool_messages(trace, r)):.0%}, "
        f"several system messages {_share(trace, lambda r: has_several_systems(trace, r)):.1%}, "
        f"images {_share(trace, lambda r: has_images(trace, r)):.1%}"])
