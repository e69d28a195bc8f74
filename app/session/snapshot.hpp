#pragma once
/// What the workers have computed so far: immutable, shared by pointer, newest wins.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/session/document.hpp"
#include "engine/reference/verification.hpp"
#include "engine/trace/head_scores.hpp"
#include "engine/trace/stage_range.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

struct Token {
    std::string text;  ///< as typed; shown escaped by widgets
    std::int32_t id = 0;
    bool padding = false;
    bool unknown = false;
};

struct Snapshot {
    std::uint64_t serial = 0;  ///< grows with every new trace; numbers of equal serial and stage are equal
    std::shared_ptr<const Document> document;           ///< what `trace` was computed from (the last good one)
    std::shared_ptr<const Trace<float>> trace;          ///< null until the first result
    std::shared_ptr<const Trace<float>> unmasked;       ///< the same without masks and dropout, for before/after
    std::vector<StageRange> ranges;                     ///< of every stage of `trace`, in its order
    std::vector<HeadScore> head_scores;                 ///< of every head of `trace`
    std::vector<std::vector<Token>> tokens;             ///< [B][T]
    std::vector<std::vector<Token>> source_tokens;      ///< of the encoder's text; empty without one
    std::vector<std::string> vocabulary;                ///< text of every id
    std::shared_ptr<const reference::Verification> verification;  ///< of `trace`; null until it is done
    double compute_ms = 0;                              ///< wall time of the forward pass
    std::string problem;  ///< why the newest document could not be computed, "" when it could; `trace` is then the last good one
};

}  // namespace attn::app
