#pragma once
/// The parts of a model that a knock-out replaces one after another, and what each replacement changes.

#include <cstddef>
#include <stop_token>
#include <vector>

#include "engine/trace/edit.hpp"
#include "engine/trace/part_worth.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Whether knock-out is computed some positions at a time: for outlines of long texts, whose maps would need too much memory.
bool knocks_out_in_rows(const Trace<float>& trace);
/// Whether a stage after the layers is edited.
bool edits_behind_layers(const Trace<float>& trace);

/// The parts that the question is about, in the order of the plan and with their places in the grid. Of positions, only those that both
/// texts of a patch have.
std::vector<PartWorth> replaced_parts(const Trace<float>& trace, const KnockOutQuestion& question);

/// The edits that replace a part: by zeros, or by the numbers of another text, of which no padding is taken.
std::vector<Edit> replacement_of(const Trace<float>& trace, const PartWorth& part, const KnockOutQuestion& question);

/// How much each replacement changes the residual stream where it can matter for the answer.
struct PartChanges {
    /// [parts]: sum of squares over positions and width; of a stream's positions, relative to those of the stream there. 0: a patch changes
    /// nothing.
    std::vector<double> squares;
    /// Indices of the parts, the largest change first; NaN counts as infinite.
    std::vector<std::size_t> order() const;
};
/// Throws Cancelled once `stop` is requested.
PartChanges changes_of(const Trace<float>& trace, const std::vector<PartWorth>& parts, const KnockOutQuestion& question,
                       const std::stop_token& stop);

}  // namespace attn
