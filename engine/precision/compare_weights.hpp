#pragma once
/// Compares the weights of one model at two precisions.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/families/model_folder.hpp"
#include "engine/precision/weight_error.hpp"

namespace attn {

/// Called before the first parameter and after every one with the results so far; `total` is the number of parameters.
using WeightProgress = std::function<void(const WeightComparison& so_far, std::size_t total)>;

/// Reads every tensor of both models once, in order. Not counted as differences: the order of rows, the 1 that a converter adds to gains,
/// and an output head stored as a copy of the embedding. Throws FileError(Schema) naming a parameter that only one model has or whose
/// shapes differ, FileError like load_parameters(), and Cancelled once `stop` is requested.
WeightComparison compare_weights(const ModelFolder& a, const ModelFolder& b, const WeightProgress& each = {},
                                 const std::stop_token& stop = {});

/// A parameter's name with its layer number replaced by "*".
std::string weight_kind(std::string_view parameter);

/// An error map of at most most_rows × most_columns tiles. Throws like compare_weights().
WeightErrorMap weight_error_map(const ModelFolder& a, const ModelFolder& b, const std::string& parameter, std::int64_t most_rows,
                                std::int64_t most_columns, const std::stop_token& stop = {});

/// A parameter of one of the models, with rows in compare_weights()'s order: number(row, column).
class ComparedParameter {
public:
    /// False as a bool if the model has no such parameter.
    ComparedParameter(const Parameters<float>& parameters, const std::string& name);
    explicit operator bool() const { return static_cast<bool>(view_); }
    std::int64_t rows() const { return view_.rows; }
    std::int64_t columns() const { return view_.columns; }
    double number(std::int64_t row, std::int64_t column) const { return view_.at(row, column) + shift_; }
    /// How the file stores the number if it is block-quantized (see packed_words()); else empty.
    std::string packed(std::int64_t row, std::int64_t column) const;

private:
    MatrixView view_;
    double shift_ = 0;
    bool vector_ = false;
};

}  // namespace attn
