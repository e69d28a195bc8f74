#pragma once
/// A step of a recording as a trace, so that whatever shows a model's attention shows it, too.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/recording/follow.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/recording/recording.hpp"
#include "engine/trace/trace.hpp"

namespace attn::recording {

/// Attentions of one graph whose stages have the same sizes. They are shown beside each other, as the layers of a model are.
struct AttentionGroup {
    std::vector<std::size_t> members;  ///< places in RecordedGraph::attentions, in the order of the code
    std::int64_t sequences = 1, heads = 1, key_heads = 1, queries = 0, keys = 0;
    std::int64_t width = 0;        ///< of a query
    std::int64_t value_width = 0;  ///< of a value
    std::int64_t channels = 0;     ///< of what leaves the attention
    bool own_keys = false;         ///< keys are other positions than the queries: cross-attention, or a text that goes on
    /// Instead of attentions: tensors of one size that belong to none, by their full names. Each is drawn as a map, a layer for itself;
    /// then `queries` are its rows and `keys` its columns.
    std::vector<std::string> matrices{};

    std::size_t layers() const { return matrices.empty() ? members.size() : matrices.size(); }
};

/// All attentions that can be drawn, those with the same sizes together; the group that comes first in the code is first. Attentions that
/// no stage tells the sizes of, or whose sizes contradict each other, are in none.
std::vector<AttentionGroup> groups_of(const RecordedGraph& graph);
/// The same, and behind them everything else in a step that has one to five axes, those of the same size together. The last two axes are
/// rows and columns, those before them heads and sequences. Parameters are left out.
std::vector<AttentionGroup> groups_of(const RecordedGraph& graph, const RecordedStep& step);

/// Where a stage of the group's i-th attention is in its trace; nothing if it cannot be drawn: its axes are not those of its role. Maps
/// whose role is none of ours are Stage::Other.
std::optional<StageId> place_of(const AttentionGroup& group, const RecordedAttention& attention, const RecordedStage& stage,
                                std::size_t layer);

/// Where the group's i-th matrix is in its trace.
StageId place_of_matrix(const AttentionGroup& group, std::size_t i);

/// What has to be read to show a group.
struct RecordedGroup {
    const Recording& recording;
    const RecordedGraph& graph;
    const AttentionGroup& group;
    const RecordedStep& step;
    const FindParameter& parameter;
};

/// The sizes of a group, with its attentions as layers. It names no part that was not recorded.
Config config_of(const Recording& recording, const AttentionGroup& group);

/// Every stage of a group that was recorded or follows from what was, in float: a whole trace of a plan that consists of these stages, with
/// no parameters and no residual stream. Cells below −10⁸ in a
/// mask's result are masked where their row has others. Throws Error if it takes more than `most_mib`, FileError if the step cannot be
/// read, and Cancelled.
Trace<float> trace_of(const RecordedGroup& recorded, double most_mib, const std::stop_token& stop = {});

/// The words of a group's positions: those that were recorded, or numbers.
struct RecordedWords {
    std::vector<std::vector<std::string>> queries, keys;  ///< [B][T] and [B][S]; `keys` is empty unless they are other positions
    std::vector<std::string> all;                         ///< each once; a token's id is its place here
};
RecordedWords words_of(const Recording& recording, const AttentionGroup& group);

}  // namespace attn::recording
