#pragma once
/// How much the weights of a model differ between two precisions; plain data.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A run of numbers in a row that share a block.
struct BlockError {
    std::int64_t row = 0, first = 0, count = 0;
    double max = 0, rms = 0;
};

struct WeightError {
    std::string parameter;               ///< "layers.0.attention.q.weight"
    std::int64_t rows = 0, columns = 0;  ///< of a map one row per output, of a table one per word or position
    bool is_map = false;
    std::string_view type_a{}, type_b{};  ///< "BF16", "Q4_K"
    double max = 0, rms = 0;              ///< of b - a; NaN if either contains NaN
    double relative = 0;                  ///< rms(b - a) / rms(a)
    std::vector<BlockError> worst{};      ///< by rms, at most kWorstBlocks; empty if neither is block-quantized
};
inline constexpr std::size_t kWorstBlocks = 3;

/// The same parameter in all layers.
struct WeightKindError {
    std::string kind;                 ///< "layers.*.attention.q.weight"
    std::int64_t parameters = 0;      ///< number of parameters
    std::string_view type_a, type_b;  ///< empty if the parameters differ in type
    double max = 0, rms = 0, relative = 0;
};

struct WeightComparison {
    std::vector<WeightError> parameters;  ///< in layout order
    std::vector<WeightKindError> kinds;   ///< in order of their first parameter
    std::int64_t numbers = 0;
    double max = 0, rms = 0, relative = 0;  ///< over all numbers
};

/// The errors of one parameter as an image: each cell is the error of a tile of tile_rows × tile_columns numbers, smaller at the far edges.
struct WeightErrorMap {
    std::int64_t rows = 0, columns = 0;  ///< of the parameter, laid out as in WeightError
    std::int64_t tile_rows = 1, tile_columns = 1;
    std::int64_t map_rows = 0, map_columns = 0;
    /// Numbers of a row that share a scale in either of the two; 0 if neither is block-quantized. A tile is at least this wide.
    std::int64_t group = 0;
    std::vector<float> rms;  ///< of b - a, [map_rows,map_columns]
    float largest = 0;       ///< of the finite ones
};

}  // namespace attn
