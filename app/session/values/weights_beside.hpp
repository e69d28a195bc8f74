#pragma once
/// Compares the weights of an opened model with another file of the same model, perhaps at another precision.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "app/session/states/opened_model.hpp"
#include "app/session/values/facet.hpp"
#include "engine/precision/weight_error.hpp"

namespace attn::app {

/// The largest size of an error map, in tiles.
inline constexpr std::int64_t kMostErrorRows = 256, kMostErrorColumns = 256;
/// How many numbers of a parameter are shown individually.
inline constexpr std::int64_t kShownWeightRows = 16, kShownWeightColumns = 32;

struct WeightsBeside {
    std::shared_ptr<const OpenedModel> other;
    WeightComparison errors;  ///< of other - model
};

/// A window of a parameter's numbers in both models, laid out as WeightError describes.
struct WeightNumbers {
    std::int64_t first_row = 0, first_column = 0, rows = 0, columns = 0;
    std::vector<float> a, b, difference;          ///< [rows,columns]
    std::vector<std::string> packed_a, packed_b;  ///< how each file packs them, see packed_words(); "" for numbers stored individually
    std::size_t at(std::int64_t row, std::int64_t column) const {
        return static_cast<std::size_t>((row - first_row) * columns + column - first_column);
    }
    bool has(std::int64_t row, std::int64_t column) const {
        return row >= first_row && row < first_row + rows && column >= first_column && column < first_column + columns;
    }
};

/// Called before the first parameter and after each one with the results so far; `total` is the number of parameters.
using WeightsBesideProgress = std::function<void(const WeightsBeside& so_far, std::size_t total)>;

/// Opens `other` and compares. Throws FileError as OpenedModel::open() and compare_weights() do, Cancelled once `stop` is requested.
WeightsBeside weights_beside(const OpenedModel& model, const std::filesystem::path& other, const WeightsBesideProgress& each,
                             const std::stop_token& stop);
WeightErrorMap error_map_beside(const OpenedModel& model, const OpenedModel& other, const std::string& parameter,
                                const std::stop_token& stop);
/// The window around one number. Throws Error unless both models have the parameter and the number.
WeightNumbers numbers_beside(const OpenedModel& model, const OpenedModel& other, const std::string& parameter, std::int64_t row,
                             std::int64_t column);

namespace facet {

/// How the weights of another file of the same model differ from those of an opened one. Belongs to no state. A new
/// `opening` forces the file to be read again.
struct WeightsBeside {
    using Value = app::WeightsBeside;
    static constexpr FacetInfo kInfo{.is_idle_kept = false};
    std::shared_ptr<const OpenedModel> model;
    std::string other;
    std::uint64_t opening = 0;
    static Job<Value> make(const WeightsBeside&, Ask& ask);
    bool operator==(const WeightsBeside&) const = default;
};

/// An error map of one parameter in those two files. Belongs to no state.
struct WeightErrors {
    using Value = WeightErrorMap;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .is_idle_kept = false};
    std::shared_ptr<const OpenedModel> model, other;
    std::string parameter;
    static Job<Value> make(const WeightErrors&, Ask& ask);
    bool operator==(const WeightErrors&) const = default;
};

/// A window of a parameter's numbers in both files, around one of them. Belongs to no state.
struct WeightNumbers {
    using Value = app::WeightNumbers;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .is_idle_kept = false};
    std::shared_ptr<const OpenedModel> model, other;
    std::string parameter;
    std::int64_t row = 0, column = 0;
    static Job<Value> make(const WeightNumbers&, Ask& ask);
    bool operator==(const WeightNumbers&) const = default;
};

}  // namespace facet

}  // namespace attn::app
