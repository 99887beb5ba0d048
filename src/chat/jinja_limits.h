// What bounds a render. A template comes with the checkpoint and its variables with the request;
// neither may hang or exhaust the process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deltaserve::jinja {

// One step is one node evaluated, one item visited, or kBytesPerStep bytes of text made. Half a
// second of work; rendering a message takes some hundred steps, so 100,000 messages still fit.
inline constexpr uint64_t kMaxSteps = uint64_t{1} << 25;
inline constexpr uint64_t kStepsPerScope = 4;  // a scope is an allocation
inline constexpr size_t kBytesPerStep = 32;    // memcpy of a cache line costs about a node's visit

// Of one rendered prompt and of any string on the way: 16 times a context of 1M tokens.
inline constexpr size_t kMaxTextBytes = size_t{64} << 20;

// Nested evaluations (expressions in blocks in macro calls). Needs about 1 MiB of stack in a
// release build, a few MiB under AddressSanitizer; recursive schema printers of published templates
// stay below 300.
inline constexpr int kMaxEvaluationDepth = 1500;

// Lists in lists: twice what the JSON parser lets in; bounds recursion in printing and destructors.
inline constexpr uint32_t kMaxValueDepth = 400;

// Of an expression or statement tree, for the parser and the tree's destructor.
inline constexpr uint32_t kMaxSyntaxDepth = 250;

// Published templates stay below 32 KiB.
inline constexpr size_t kMaxSourceBytes = size_t{1} << 20;

// As in jinja2's sandbox.
inline constexpr int64_t kMaxRange = 100'000;

}  // namespace deltaserve::jinja
