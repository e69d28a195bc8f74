#pragma once
/// What the numbers of a tensor are like, at a glance.

#include <array>
#include <cstdint>
#include <span>

#include "engine/tensor/matrix_view.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// Numbers as rows and columns.
struct NumberGrid {
    const float* values = nullptr;
    std::int64_t rows = 0, cols = 0;
    std::int64_t row_stride = 0;         ///< distance between rows, in numbers
    const std::uint8_t* keep = nullptr;  ///< [rows, cols] bytes, 0 = masked; null when nothing is masked
    std::int64_t col_stride = 1;         ///< distance between columns
    /// Numbers that are stored in another form, instead of values.
    const void* stored = nullptr;
    std::int64_t first = 0;  ///< how many come before the first one
    NumberReader read = nullptr;

    bool empty() const { return values == nullptr && stored == nullptr; }
    float at(std::int64_t place) const { return values != nullptr ? values[place] : read(stored, first + place); }
};

inline constexpr int kHistogramBins = 24;

struct TensorStatistics {
    std::int64_t count = 0;              ///< finite and kept: what the figures below are about
    std::int64_t masked = 0;             ///< whatever their numbers are
    std::int64_t nan = 0, infinite = 0;  ///< among the kept ones
    float min = 0, max = 0;              ///< 0 where count is 0
    double mean = 0;
    double deviation = 0;  ///< standard deviation of all of them (divided by count)
    std::array<std::int64_t, kHistogramBins>
        histogram{};  ///< equal bins from min to max, the last with its end; one bin where all are equal
    bool empty() const { return count == 0; }
};

/// The same of numbers that come some at a time, and twice: all of them, then all of them again.
class StatisticsSums {
public:
    static constexpr int kPasses = 2;
    void add(const NumberGrid& data);
    void end_pass();
    /// After all passes.
    const TensorStatistics& take() const { return s_; }

private:
    void add_number(float value);
    TensorStatistics s_;
    int pass_ = 0;
    double sum_ = 0, squares_ = 0;
};

/// Of several grids taken together, in two passes.
TensorStatistics statistics_of(std::span<const NumberGrid> parts);
/// Of a stage, all sequences and heads; masked cells are counted apart.
TensorStatistics statistics_of(const RecordedStage<float>& stage);

}  // namespace attn::app
