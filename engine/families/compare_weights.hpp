#pragma once
/// The same model at two precisions: by how much its weights differ.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/families/model_folder.hpp"
#include "engine/trace/weight_error.hpp"

namespace attn {

/// Called before the first parameter and after every one with what is known by then; `total`: how many parameters there are.
using WeightProgress = std::function<void(const WeightComparison& so_far, std::size_t total)>;

/// Reads every tensor of both once, one after the other. The order in which the two have their rows, what a converter added to gains, and a
/// head that is a copy of the embedding in one of them do not count as a difference. Throws FileError(Schema) naming a parameter that only
/// one of them has or that has another shape, and as load_parameters() does, Cancelled once `stop` is requested.
WeightComparison compare_weights(const ModelFolder& a, const ModelFolder& b, const WeightProgress& each = {},
                                 const std::stop_token& stop = {});

/// The kind that a parameter is of: its name without the number of its layer.
std::string weight_kind(std::string_view parameter);

/// Of at most `most_rows` × `most_columns` tiles. Throws as compare_weights() does.
WeightErrorMap weight_error_map(const ModelFolder& a, const ModelFolder& b, const std::string& parameter, std::int64_t most_rows,
                                std::int64_t most_columns, const std::stop_token& stop = {});

/// A parameter of one of the two, with its rows as compare_weights() has them: number(row, column).
class ComparedParameter {
public:
    /// Without numbers when the model has no such parameter.
    ComparedParameter(const Parameters<float>& parameters, const std::string& name);
    explicit operator bool() const { return static_cast<bool>(view_); }
    std::int64_t rows() const { return view_.rows; }
    std::int64_t columns() const { return view_.columns; }
    double number(std::int64_t row, std::int64_t column) const { return view_.at(row, column) + shift_; }
    /// How the file packs it (see packed_words()); empty for a number that is stored by itself.
    std::string packed(std::int64_t row, std::int64_t column) const;

private:
    MatrixView view_;
    double shift_ = 0;
    bool vector_ = false;
};

}  // namespace attn
