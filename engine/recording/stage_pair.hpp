#pragma once
/// A recorded stage that stands for one of ours, and why it does not.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/plan/stage.hpp"
#include "engine/recording/recording.hpp"

namespace attn::recording {

/// A stage of our model, and the recorded one that it stands for.
struct StagePair {
    StageId ours;
    const RecordedAttention* attention = nullptr;  ///< null: the stage is around the attentions
    const RecordedStage* stage = nullptr;
    /// Where each head is an attention of its own: the first of our heads that it has. None: it has all.
    std::optional<std::int64_t> first_head{};

    /// As the recording calls it: "blocks.0.attn/weights".
    std::string name() const;
};

/// Throw Error in one sentence: name, line and why.
[[noreturn]] void refuse(const StagePair& at, std::string_view why);
[[noreturn]] void refuse(const RecordedStage& around, std::string_view why);
[[noreturn]] void refuse(const RecordedAttention& attention, std::string_view why);

}  // namespace attn::recording
