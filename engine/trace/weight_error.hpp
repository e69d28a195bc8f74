#pragma once
/// By how much the weights of the same model differ at two precisions: plain data.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// The same parameter of all layers.
struct WeightKindError {
    std::string kind;                 ///< "layers.*.attention.q.weight"
    std::int64_t parameters = 0;      ///< how many there are
    std::string_view type_a, type_b;  ///< empty where not all are of one
    double max = 0, rms = 0, relative = 0;
};

struct WeightComparison {
    std::vector<WeightError> parameters;  ///< in the order of the layout
    std::vector<WeightKindError> kinds;   ///< in the order of their first parameters
    std::int64_t numbers = 0;
    double max = 0, rms = 0, relative = 0;  ///< of all numbers together
};

/// The errors of one parameter as a picture: every tile of it sums up `tile_rows` × `tile_columns` numbers, less at the ends.
struct WeightErrorMap {
    std::int64_t rows = 0, columns = 0;  ///< of the parameter, laid out as in WeightError
    std::int64_t tile_rows = 1, tile_columns = 1;
    std::int64_t map_rows = 0, map_columns = 0;
    /// Numbers of a row that share a scale in one of the two; 0 where each is stored by itself. A tile is at least as wide.
    std::int64_t group = 0;
    std::vector<float> rms;  ///< of b - a, [map_rows,map_columns]
};

}  // namespace attn
