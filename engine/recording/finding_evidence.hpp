#pragma once
/// What the rules for mistakes in recorded code look at. For code_findings.cpp, mask_findings.cpp and fact_findings.cpp.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/recording/code_findings.hpp"
#include "engine/recording/numbers.hpp"

namespace attn::recording {

/// No score is as large.
inline constexpr double kNoScore = 1000;

struct Evidence {
    const RecordedGraph& graph;
    const RecordedAttention& attention;
    const RecordedStep& step;
    std::vector<CodeFinding>& found;

    void add(Gravity gravity, std::string bug, const RecordedStage* stage, std::string text) const;
    /// The first stage of that operation; null if there is none.
    const RecordedStage* with_op(std::string_view op) const;
    /// The axes of the tensor that a stage masks with; "" if it is not known.
    std::string mask_axes(const RecordedStage& stage) const;
    /// Its numbers; nothing if they were not recorded, are too many, or have unknown axes. Inside of a fused kernel they follow from the
    /// queries and keys.
    std::optional<Numbers> numbers(const RecordedStage* stage) const;

private:
    std::optional<Numbers> followed(const RecordedStage& stage) const;
};

/// Looks at what masks, biases and caps hide, in the order in which findings of the same gravity are listed.
void look_at_masks(const Evidence& evidence);
/// Says what attnscope.py saw in the code.
void look_at_facts(const Evidence& evidence);
/// Looks at what masks do behind the softmax.
void look_after_softmax(const Evidence& evidence);

}  // namespace attn::recording
