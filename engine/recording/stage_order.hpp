#pragma once
/// All stages of a graph, each with what it reads, inputs first.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/recording/recording.hpp"

namespace attn::recording {

/// A stage of an attention or between attentions. The graph must outlive it.
struct LinkedStage {
    const RecordedStage* stage = nullptr;
    std::optional<std::size_t> attention{};  ///< its place in the graph; none: between attentions
    std::size_t place = 0;                   ///< among the stages of its attention
    std::string name{};                      ///< in the files of the steps
    std::vector<std::string> reads{};        ///< names of its inputs and its mask, in the files of the steps
    /// The first attention that it belongs to, or that is computed from it; none if none is.
    std::optional<std::size_t> first_reader{};
};

/// In an order in which a stage comes after all that it reads.
std::vector<LinkedStage> stages_in_order(const RecordedGraph& graph);

}  // namespace attn::recording
