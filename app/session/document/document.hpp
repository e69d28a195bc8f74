#pragma once
/// What the user set: a plain value from which everything on screen follows.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/session/document/writing.hpp"
#include "app/session/states/state.hpp"
#include "engine/generate/generate.hpp"
#include "engine/train/run_settings.hpp"

namespace attn::app {

/// Parameters that were learned: those of one moment of a training run of this session.
struct TrainedModel {
    std::uint64_t run = 0;
    std::optional<std::int64_t> step;  ///< the kept moment nearest to it; none: follows the newest
    bool operator==(const TrainedModel&) const = default;
};

/// States that are kept to compare others with: A, and B of a training run.
struct Pins {
    std::optional<State> a, b;
    bool operator==(const Pins&) const = default;
};

/// Its setup with the parameters of `trained`, or freshly drawn ones, is the state that is shown.
struct Document : Setup {
    std::string preset;                   ///< name of the preset it started from, "" for none
    std::string look_at;                  ///< the preset's sentence saying what to look at
    std::optional<TrainedModel> trained;  ///< where the parameters come from; none: freshly drawn as `config` says
    Pins pins;
    SamplingSettings sampling;
    Writing writing;                                  ///< the branches; `written` is the way to the moment that is shown
    RunSettings run = default_run(TaskKind::Repeat);  ///< the next training run, and what is to apply to the one under way
    bool operator==(const Document&) const = default;
};

/// What the texts of a document, source texts included, may hold together. A trace of one text this long would not fit by far; every step
/// of the undo history holds them.
inline constexpr std::size_t kTextLimitBytes = 128 << 10;

inline std::size_t bytes_of(const std::vector<std::string>& texts) {
    std::size_t bytes = 0;
    for (const std::string& text : texts) bytes += text.size();
    return bytes;
}
/// Of texts and source texts.
inline std::size_t text_bytes(const Setup& setup) { return bytes_of(setup.texts) + bytes_of(setup.source_texts); }

}  // namespace attn::app
