#include "app/session/values/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/asked_parts.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/model/looked_at_part.hpp"
#include "engine/tensor/error.hpp"
#include "engine/weights/parameters.hpp"

namespace attn::app {
namespace {

/// Calls `use` for every unmasked number.
template <class Use>
void for_each_kept(const NumberGrid& data, Use use) {
    for (std::int64_t row = 0; row < data.rows; ++row) {
        const std::uint8_t* keep = data.keep != nullptr ? data.keep + row * data.cols : nullptr;
        for (std::int64_t col = 0; col < data.cols; ++col) {
            if (keep == nullptr || keep[col] != 0) use(data.at(row * data.row_stride + col * data.col_stride));
        }
    }
}

}  // namespace

NumberGrid NumberGrid::of(const MatrixView& view) {
    NumberGrid grid{.values = view.numbers<float>(),
                    .rows = view.rows,
                    .cols = view.columns,
                    .row_stride = view.transposed ? 1 : view.stride,
                    .col_stride = view.transposed ? view.stride : 1,
                    .first = view.first};
    if (grid.values != nullptr) return grid;
    grid.stored = view.data;
    grid.read = number_reader(view.kind);
    return grid;
}

NumberGrid NumberGrid::of(const RecordedStage<float>& stage, std::int64_t sequence, std::int64_t head) {
    const Shape& shape = stage.value.shape();
    const bool per_head = shape.rank() == 4;
    const std::int64_t slice = per_head ? sequence * shape[1].size + stage.place_of_head(head) : sequence;
    const std::int64_t rows = shape.rank() == 2 ? 1 : shape[shape.rank() - 2].size, cols = shape[shape.rank() - 1].size;
    const bool masked = stage.mask != nullptr && !stage.mask->allows_everything();
    return {stage.value.data() + slice * rows * cols, rows, cols, cols, masked ? stage.mask->keep_row(sequence, head, 0) : nullptr};
}

void StatisticsSums::add_number(float value) {
    if (std::isnan(value)) {
        ++s_.nan;
    } else if (std::isinf(value)) {
        ++s_.infinite;
    } else {
        s_.min = s_.count == 0 ? value : std::min(s_.min, value);
        s_.max = s_.count == 0 ? value : std::max(s_.max, value);
        sum_ += value;
        ++s_.count;
    }
}

void StatisticsSums::add(const NumberGrid& data) {
    if (data.empty()) return;
    if (pass_ == 0) {
        std::int64_t kept = 0;
        for_each_kept(data, [&](float value) {
            ++kept;
            add_number(value);
        });
        s_.masked += data.rows * data.cols - kept;
        return;
    }
    const double range = static_cast<double>(s_.max) - s_.min;
    for_each_kept(data, [&](float value) {
        if (!std::isfinite(value)) return;
        squares_ += (value - s_.mean) * (value - s_.mean);
        const double place = range > 0 ? (value - static_cast<double>(s_.min)) / range * kHistogramBins : 0;
        ++s_.histogram[static_cast<std::size_t>(std::clamp(static_cast<int>(place), 0, kHistogramBins - 1))];
    });
}

void StatisticsSums::end_pass() {
    if (!s_.empty() && pass_ == 0) s_.mean = sum_ / static_cast<double>(s_.count);
    if (!s_.empty() && pass_ == 1) s_.deviation = std::sqrt(squares_ / static_cast<double>(s_.count));
    ++pass_;
}

TensorStatistics statistics_of(std::span<const NumberGrid> parts) {
    StatisticsSums sums;
    for (int pass = 0; pass < StatisticsSums::kPasses; ++pass) {
        for (const NumberGrid& data : parts) sums.add(data);
        sums.end_pass();
    }
    return sums.take();
}

TensorStatistics statistics_of(const RecordedStage<float>& stage, std::optional<std::int64_t> sequence, std::optional<std::int64_t> head) {
    const Shape& shape = stage.value.shape();
    const std::int64_t heads = shape.rank() == 4 ? shape[1].size : 1;
    std::vector<NumberGrid> parts;
    for (std::int64_t b = sequence.value_or(0); b < (sequence ? *sequence + 1 : shape[0].size); ++b)
        for (std::int64_t h = head.value_or(0); h < (head ? *head + 1 : heads); ++h) parts.push_back(NumberGrid::of(stage, b, h));
    return statistics_of(parts);
}

TensorStatistics statistics_of(const MatrixView& numbers) {
    const NumberGrid grid = NumberGrid::of(numbers);
    return statistics_of(std::span(&grid, 1));
}

namespace {

/// Two passes over the rows of a map of an outline, as for recorded stages.
TensorStatistics statistics_in_rows(const Trace<float>& outline, const Trace<float>* queries, const StageId& stage, std::int64_t head,
                                    const std::stop_token& stop) {
    if (!is_attention_map(stage.stage)) throw Error("there are no numbers of " + tensor_name(stage));
    StatisticsSums sums;
    for (int pass = 0; pass < StatisticsSums::kPasses; ++pass) {
        const auto add = [&](const StageRows<float>& shown) {
            if (shown.id != stage) return;
            const std::int64_t rows = shown.value.shape()[2].size, keys = shown.value.shape()[3].size;
            sums.add({shown.value.data() + head * rows * keys, rows, keys, keys,
                      shown.mask == nullptr ? nullptr : shown.mask->keep_row(0, 0, 0)});
        };
        show_map_rows(outline, stage, queries, 0, outline.tokens.length, add, stop);
        sums.end_pass();
    }
    return sums.take();
}

TensorStatistics statistics_of_parameter(const Parameters<float>* parameters, const std::string& name) {
    const ParameterPlace place = parameters == nullptr ? ParameterPlace{} : parameters->layout().place(name);
    const MatrixView numbers = place.whole == nullptr ? MatrixView{} : parameters->view(place);
    if (!numbers) throw Error("there are no numbers of " + name);
    return statistics_of(numbers);
}

/// A stage, or its gradients, for the sequence and head of a request.
TensorStatistics statistics_of_recorded(const RecordedStage<float>* stage, const facet::Statistics& wanted) {
    if (stage == nullptr || stage->value.empty()) throw Error("there are no numbers of " + tensor_name(wanted.stage));
    if (wanted.sequence && (*wanted.sequence < 0 || *wanted.sequence >= stage->value.shape()[0].size))
        throw Error("there is no such sequence");
    return statistics_of(*stage, wanted.sequence, wanted.head);
}

}  // namespace

Job<TensorStatistics> facet::Statistics::make(const Statistics& wanted, Ask& ask) {
    if (wanted.gradients)
        return [wanted, gradients = ask(Gradients{})](const Work&) {
            if (!wanted.parameter.empty()) return statistics_of_parameter(gradients->parameters.get(), wanted.parameter);
            return statistics_of_recorded(gradients->find(wanted.stage), wanted);
        };
    if (!wanted.parameter.empty())
        return
            [wanted, pass = ask(Trace{})](const Work&) { return statistics_of_parameter(pass->trace->parameters.get(), wanted.parameter); };
    const auto pass = ask.pass_to(wanted.stage);
    if (wanted.head && *wanted.head < 0)
        return [head = *wanted.head,
                mean = ask_sequence(ask, ask.state(), pass, wanted.stage, wanted.sequence.value_or(0), wanted.part, true)](const Work&) {
            const NumberGrid grid = mean.head(head);
            return statistics_of(std::span(&grid, 1));
        };
    if (wanted.head && !wanted.part && !pass->trace->whole())
        return [wanted, pass, queries = ask_queries(ask, ask.state(), *pass, wanted.stage)](const Work& work) {
            return statistics_in_rows(*pass->trace, queries == nullptr ? nullptr : queries->trace.get(), wanted.stage, *wanted.head,
                                      work.stop);
        };
    const auto held = wanted.part ? ask_part(ask, ask.state(), pass, wanted.part) : ask_around(ask, wanted.stage);
    return [wanted, held](const Work&) {
        return statistics_of_recorded(wanted.head ? held->trace->find(wanted.stage, *wanted.head) : held->trace->find(wanted.stage),
                                      wanted);
    };
}

}  // namespace attn::app
