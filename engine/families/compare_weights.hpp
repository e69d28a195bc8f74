#pragma once
/// The same model at two precisions: by how much its weights differ.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/families/model_folder.hpp"

namespace attn {

/// A run of one row's numbers that were packed together.
struct BlockError {
    std::int64_t row = 0, first = 0, count = 0;
    double max = 0, rms = 0;
};

struct WeightError {
    std::string parameter;               ///< "layers.0.attention.q.weight"
    std::int64_t rows = 0, columns = 0;  ///< of a map one row an output, of a table one a word or position
    bool is_map = false;
    std::string_view type_a{}, type_b{};  ///< "BF16", "Q4_K"
    double max = 0, rms = 0;              ///< of b - a; not a number where one of the two is none
    double relative = 0;                  ///< rms(b - a) / rms(a)
    std::vector<BlockError> worst{};      ///< by rms, at most kWorstBlocks; none where neither is packed in blocks
};
inline constexpr std::size_t kWorstBlocks = 3;

struct WeightComparison {
    std::vector<WeightError> parameters;  ///< in the order of the layout
    std::int64_t numbers = 0;
    double max = 0, rms = 0, relative = 0;  ///< of all numbers together
};

/// Reads every tensor of both once, one after the other. The order in which the two have their rows, what a converter added to gains, and a
/// head that is a copy of the embedding in one of them do not count as a difference. Throws FileError(Schema) naming a parameter that only
/// one of them has or that has another shape, and as load_parameters() does.
WeightComparison compare_weights(const ModelFolder& a, const ModelFolder& b);

}  // namespace attn
