#pragma once
/// Statistics of a tensor's numbers.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "app/session/values/facet.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/matrix_view.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// A strided matrix of numbers.
struct NumberGrid {
    const float* values = nullptr;
    std::int64_t rows = 0, cols = 0;
    std::int64_t row_stride = 0;         ///< distance between rows, in numbers
    const std::uint8_t* keep = nullptr;  ///< [rows, cols] bytes, 0 = masked; null if nothing is masked
    std::int64_t col_stride = 1;         ///< distance between columns, in numbers
    /// Numbers in another storage format, read through `read`; replaces `values`.
    const void* stored = nullptr;
    std::int64_t first = 0;  ///< index of the first number in `stored`
    NumberReader read = nullptr;

    static NumberGrid of(const MatrixView& view);
    /// One sequence and head of a stage that has them; the numbers of one sequence of a stage without heads.
    static NumberGrid of(const RecordedStage<float>& stage, std::int64_t sequence, std::int64_t head);

    bool empty() const { return values == nullptr && stored == nullptr; }
    float at(std::int64_t place) const { return values != nullptr ? values[place] : read(stored, first + place); }
};

inline constexpr int kHistogramBins = 24;

struct TensorStatistics {
    std::int64_t count = 0;              ///< finite and unmasked numbers, which the fields below describe
    std::int64_t masked = 0;             ///< masked numbers, whatever their values
    std::int64_t nan = 0, infinite = 0;  ///< among the unmasked ones
    float min = 0, max = 0;              ///< 0 if count is 0
    double mean = 0;
    double deviation = 0;  ///< population standard deviation (divides by count)
    std::array<std::int64_t, kHistogramBins>
        histogram{};  ///< equal bins from min to max, the last one closed; a single bin if all numbers are equal
    bool empty() const { return count == 0; }
};

/// Accumulates statistics of numbers that arrive in pieces. All of them must be added once per pass.
class StatisticsSums {
public:
    static constexpr int kPasses = 2;
    void add(const NumberGrid& data);
    void end_pass();
    /// To be called after the last pass.
    const TensorStatistics& take() const { return s_; }

private:
    void add_number(float value);
    TensorStatistics s_;
    int pass_ = 0;
    double sum_ = 0, squares_ = 0;
};

/// Statistics of several grids taken together, in two passes.
TensorStatistics statistics_of(std::span<const NumberGrid> parts);
/// Statistics of a stage over all heads or one, and one sequence or all; masked cells are only counted.
TensorStatistics statistics_of(const RecordedStage<float>& stage, std::optional<std::int64_t> sequence = {},
                               std::optional<std::int64_t> head = {});
TensorStatistics statistics_of(const MatrixView& numbers);

namespace facet {

/// Statistics of the numbers of a stage or a parameter, or of the loss gradients with respect to them.
struct Statistics {
    using Value = TensorStatistics;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    StageId stage{};
    bool gradients = false;
    std::optional<std::int64_t> head{};      ///< statistics of this head of an attention map; negative: of the mean. None: all heads
    std::optional<std::int64_t> sequence{};  ///< statistics of this sequence. None: all sequences
    std::optional<Inside> part{};            ///< the part that holds the numbers. None: any that does
    std::string parameter{};                 ///< statistics of this parameter instead of the stage
    bool comes_by_itself() const { return gradients || !parameter.empty(); }
    static Job<Value> make(const Statistics&, Ask& ask);
    bool operator==(const Statistics&) const = default;
};

}  // namespace facet

}  // namespace attn::app
