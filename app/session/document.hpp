#pragma once
/// What the user set: a plain value from which everything on screen follows.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/config.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/trace/trace.hpp"
#include "engine/train/generate.hpp"
#include "engine/train/run_settings.hpp"

namespace attn::app {

using attn::TokenizerKind;

/// Parameters that were learned: those of one moment of a training run of this session.
struct TrainedModel {
    std::uint64_t run = 0;
    std::optional<std::int64_t> step;  ///< the kept moment nearest to it; none: follows the newest
    bool operator==(const TrainedModel&) const = default;
};

struct Document {
    std::string preset;                     ///< name of the preset it started from, "" for none
    std::string look_at;                    ///< the preset's sentence saying what to look at
    std::vector<std::string> texts{""};     ///< sequences of the batch, at least one
    std::vector<std::string> source_texts;  ///< what the encoder of an encoder-decoder reads, one for each of `texts`; else empty
    TokenizerKind tokenizer = TokenizerKind::Word;
    bool special_tokens = true;  ///< ids 0 and 1 are "<pad>" and "<unk>"; off: ids begin with the first symbol
    /// Texts whose symbols make up the vocabulary, before those of `texts` themselves; a preset keeps its own text here so that ids
    /// stay put while the user types.
    std::vector<std::string> vocabulary_texts;
    /// The fixed vocabulary of a trained model, text of every id; other symbols are refused. Empty: made from the texts.
    std::vector<std::string> vocabulary;
    /// vocab_size is derived from the texts whatever it says here; context_length 0 is derived too, any other is the user's limit.
    Config config{.context_length = 0};
    ForwardSettings forward;
    std::optional<TrainedModel> trained;  ///< where the parameters come from; none: freshly drawn as `config` says
    SamplingSettings sampling;
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
inline std::size_t text_bytes(const Document& document) { return bytes_of(document.texts) + bytes_of(document.source_texts); }

}  // namespace attn::app
