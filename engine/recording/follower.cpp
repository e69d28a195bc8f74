#include "engine/recording/follower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "engine/io/file_error.hpp"

namespace attn::recording {
namespace {

/// The distance in units of what is allowed: more than 1 is too far.
double excess_at(const Numbers& recorded, const Numbers& expected, std::size_t i) {
    const double a = recorded.values[i], b = expected.values[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
    // Numbers below the smallest normal one are rounded to multiples of it, or to 0.
    const double least = recorded.eps >= 0x1p-10 ? 0x1p-24 : recorded.eps > 0x1p-30 ? 0x1p-126 : 0x1p-1022;
    // What is beyond the largest number became infinite.
    const double largest = recorded.eps == 0x1p-10 ? 65504 : recorded.eps > 0x1p-30 ? std::numeric_limits<float>::max() : INFINITY;
    if (std::isinf(a) && std::abs(b) >= largest && std::signbit(a) == std::signbit(b)) return 0;
    const double gap = std::abs(a - b), allowed = 2 * expected.slack[i] + 2 * recorded.eps * std::abs(b) + 2 * least;
    return std::isfinite(gap) ? gap / allowed : std::numeric_limits<double>::infinity();
}

void compare(const Numbers& recorded, const Numbers& expected, StageCheck& result) {
    if (recorded.values.size() != expected.values.size()) throw NotComputed{"its inputs give another shape"};
    double worst = 0;
    std::size_t place = 0;
    for (std::size_t i = 0; i < recorded.values.size(); ++i) {
        const double excess = excess_at(recorded, expected, i);
        if (excess <= worst) continue;
        worst = excess;
        place = i;
    }
    result.outcome = worst > 1 ? Outcome::Differs : Outcome::Follows;
    if (result.outcome == Outcome::Follows) return;
    result.recorded = recorded.values[place];
    result.expected = expected.values[place];
    result.cell.assign(recorded.shape.size(), 0);
    for (std::size_t axis = recorded.shape.size(); axis-- > 0;) {
        const auto size = static_cast<std::size_t>(recorded.shape[axis]);
        result.cell[axis] = static_cast<std::int64_t>(place % size);
        place /= size;
    }
}

/// Rows of zeros are expected where they were recorded.
void forget_padding(const Numbers& recorded, Numbers& expected) {
    const std::int64_t width = recorded.shape.empty() ? 0 : recorded.shape.back();
    if (width <= 0 || expected.values.size() != recorded.values.size()) return;
    for (auto row = recorded.values.begin(); row != recorded.values.end(); row += width)
        if (std::all_of(row, row + width, [](double number) { return number == 0; }))
            std::fill_n(expected.values.begin() + (row - recorded.values.begin()), width, 0.0);
}

/// Numbers are found by the letters of their axes: each axis has one, and no letter stands twice.
void expect_axes(const NamedArray& header, const std::string& axes) {
    bool usable = !axes.empty() && header.shape.size() == axes.size();
    for (std::size_t axis = 0; usable && axis < axes.size(); ++axis)
        usable = header.shape[axis] > 0 && axes.find(axes[axis], axis + 1) == std::string::npos;
    if (!usable) throw NotComputed{"the axes of " + escaped(header.name) + " are not known"};
}

}  // namespace

bool follows(const Numbers& recorded, const Numbers& expected) {
    StageCheck result;
    compare(recorded, expected, result);
    return result.outcome == Outcome::Follows;
}

void expect_to_fit(const Numbers& a, const Numbers& b) {
    for (const char letter : a.axes) {
        const std::int64_t one = a.size(letter), other = b.size(letter);
        if (one != other && one != 1 && other != 1) throw NotComputed{"its inputs do not fit together"};
    }
}

std::string no_arithmetic(const RecordedStage& stage) {
    return "there is no arithmetic for " + escaped(stage.called.empty() ? stage.op : stage.called);
}

StageCheck Follower::check(const RecordedStage& stage) {
    StageCheck result;
    result.stage = stage.name;
    depth_ = 0;
    followed_.clear();
    const std::string name = full_name(attention_, stage);
    if (step_.find(name) == nullptr) {
        result.reason = why_missing(stage);
        return result;
    }
    try {
        const Numbers recorded = of_attention(name, stage.axes, stage.extra);
        if (stage.op == "linear" && stage.kernel.empty()) return checked_linear(stage, recorded, result);
        const Numbers expected = stage.op == "dropout" ? after_dropout(stage, recorded) : computed(stage);
        compare(recorded, expected, result);
    } catch (const NotComputed& problem) {
        result.reason = problem.why;
    }
    return result;
}

StageCheck Follower::check_result(const RecordedStage& around) {
    StageCheck result;
    result.stage = around.name;
    depth_ = 0;
    followed_.clear();
    try {
        if (step_.find(around.name) == nullptr) throw NotComputed{around.reason.empty() ? "not in this step" : around.reason};
        const Numbers recorded = recorded_numbers(around.name, around.axes);
        Numbers expected = computed(around);
        if (around.padded) forget_padding(recorded, expected);
        compare(recorded, expected, result);
    } catch (const NotComputed& problem) {
        result.reason = problem.why;
    }
    return result;
}

void Follower::read_first(Instead instead) {
    instead_ = std::move(instead);
    followed_.clear();
}

// A stage between attentions has no owner's name before its own.
std::string Follower::name_in_step(const RecordedStage& stage) const {
    return attention_.name.empty() && stage.tensor.empty() ? stage.name : full_name(attention_, stage);
}

std::optional<Numbers> Follower::recorded(const RecordedStage& stage) const {
    const std::string name = name_in_step(stage);
    if (step_.find(name) == nullptr) return {};
    return of_attention(name, stage.axes, stage.extra);
}

bool Follower::knows_mask(const RecordedStage& stage) const {
    return stage.mask.empty() ? stage.causal : step_.find(stage.mask) != nullptr;
}

std::string Follower::why_missing(const RecordedStage& stage) {
    if (stage.have == Have::Recorded) return "not in this step";
    if (!stage.reason.empty()) return stage.reason;
    if (stage.have == Have::No) return "not recorded";
    try {
        computed(stage);
        return "not recorded; it follows from what was";
    } catch (const NotComputed& problem) {
        return "not recorded, and it cannot be computed: " + problem.why;
    }
}

Numbers Follower::recorded_numbers(const std::string& name, const std::string& axes) const {
    const NamedArray* header = step_.find(name);
    if (count_of(*header) > kMostNumbers) throw NotComputed{"too large to be checked"};
    expect_axes(*header, axes);
    Numbers numbers = numbers_of(step_.read(name), axes, step_.source());
    return numbers;
}

/// The same for a stage or mask of the attention, whose sizes are known. Columns of a sink come beside the keys.
Numbers Follower::of_attention(const std::string& name, const std::string& axes, std::int64_t extra) const {
    Numbers numbers = recorded_numbers(name, axes);
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        const std::int64_t size = attention_.size(axes[axis]) + (axes[axis] == 'S' ? extra : 0);
        if (size > 0 && numbers.shape[axis] != size && numbers.shape[axis] != 1)
            throw NotComputed{
                fmt::format("{} is {}, but {} is {} long", escaped(axes.substr(axis, 1)), size, escaped(name), numbers.shape[axis])};
    }
    return numbers;
}

Numbers Follower::input(const RecordedStage& stage, std::size_t place) {
    if (place >= stage.inputs.size()) throw NotComputed{"its inputs were not recorded"};
    const std::string& name = stage.inputs[place];
    const RecordedStage* own = attention_.find(name);
    for (const RecordedStage& each : attention_.stages)
        if (!stage.kernel.empty() && own == nullptr && full_name(attention_, each) == name) own = &each;
    if (own != nullptr) {
        const std::string full = full_name(attention_, *own);
        if (const Numbers* other = instead_of(full)) return *other;
        return step_.find(full) != nullptr ? of_attention(full, own->axes, own->extra) : computed(*own);
    }
    if (const Numbers* other = instead_of(name)) return *other;
    for (const RecordedStage& around : graph_.around)
        if (around.name == name && !around.axes.empty()) {
            if (step_.find(name) != nullptr) return recorded_numbers(name, around.axes);
            if (!around.kernel.empty() && around.have == Have::Follows) return computed(around);
        }
    if (reads_all_ && step_.find(name) != nullptr)
        for (const RecordedAttention& other : graph_.attentions)
            for (const RecordedStage& each : other.stages)
                if (full_name(other, each) == name) return recorded_numbers(name, each.axes);
    for (const RecordedAttention& other : graph_.attentions)
        for (const RecordedStage& each : other.stages)
            if (!within_other_ && !stage.kernel.empty() && other.name == stage.kernel && &other != &attention_ &&
                full_name(other, each) == name) {
                Follower follower(graph_, other, step_, parameter_);
                follower.within_other_ = true;
                return follower.computed(each);
            }
    throw NotComputed{"its input " + escaped(name) + " was not recorded"};
}

Numbers Follower::masked(const RecordedStage& stage) {
    Numbers before = input(stage, 0);
    if (stage.mask.empty()) {
        if (!stage.causal) throw NotComputed{kUnknownMask};
        return filled_ahead(std::move(before), stage.fill);
    }
    const NamedArray* header = step_.find(stage.mask);
    const auto around =
        std::find_if(graph_.around.begin(), graph_.around.end(), [&](const RecordedStage& each) { return each.name == stage.mask; });
    if (header == nullptr || around == graph_.around.end()) throw NotComputed{kUnknownMask};
    const Numbers* const other = instead_of(stage.mask);
    const Numbers mask = other == nullptr ? of_attention(stage.mask, around->axes, 0) : *other;
    const std::string_view how = stage.how.empty() ? stage.called : stage.how;
    if (how == "mul") return times(std::move(before), mask);
    if (header->dtype == DType::Bool) return filled(std::move(before), mask, stage.true_is_hidden, stage.fill);
    if (how == "add" || how.empty()) return plus(std::move(before), mask);
    throw NotComputed{"there is no arithmetic for a mask by " + escaped(how)};
}

Numbers Follower::scaled(const RecordedStage& stage) {
    if (std::isnan(stage.by)) throw NotComputed{"it has a scale of its own"};
    if (stage.inputs.size() == 1) return scaled_by(input(stage, 0), stage.by);
    return scaled_by(product(stage), stage.by);
}

/// The letter that two operands share and the result lacks.
Numbers Follower::product(const RecordedStage& stage) {
    Numbers a = input(stage, 0), b = input(stage, 1);
    char summed = 0;
    for (const char letter : a.axes)
        if (b.axes.find(letter) != std::string::npos && stage.axes.find(letter) == std::string::npos) summed = letter;
    if (summed == 0) throw NotComputed{"its axes do not tell what is summed"};
    expect_to_fit(a, b);
    expect_room(a, b, stage.axes);
    if (stage.op == "cosine") {
        a = of_length_one(std::move(a), summed);
        b = of_length_one(std::move(b), summed);
    }
    return product_over(a, b, stage.axes, summed, attention_.repeat);
}

/// Throws NotComputed for a result of more than kMostNumbers.
void Follower::expect_room(const Numbers& a, const Numbers& b, const std::string& axes) const {
    std::int64_t count = 1;
    for (const char letter : axes) {
        const std::int64_t heads = letter == 'H' ? std::max(a.size('G'), b.size('G')) * attention_.repeat : 1;
        const std::int64_t size = std::max({a.size(letter), b.size(letter), heads, std::int64_t{1}});
        if (size > kMostNumbers || (count *= size) > kMostNumbers) throw NotComputed{"too large to be checked"};
    }
}

Numbers Follower::computed(const RecordedStage& stage) {
    constexpr int kMostSteps = 16;
    if (depth_ >= kMostSteps) throw NotComputed{"too many stages before it were not recorded"};
    if (const auto known = followed_.find(&stage); known != followed_.end()) return known->second;
    ++depth_;
    Numbers numbers = from_inputs(stage);
    --depth_;
    return followed_.emplace(&stage, std::move(numbers)).first->second;
}

Numbers Follower::from_inputs(const RecordedStage& stage) {
    if (stage.op == "product" || stage.op == "cosine") return product(stage);
    if (stage.op == "scale") return scaled(stage);
    if (stage.op == "cap" && !std::isnan(stage.by)) return capped_at(input(stage, 0), stage.by);
    if (stage.op == "mask" || stage.op == "bias") return masked(stage);
    if (stage.op == "softmax") {
        if (attention_.has_fact("sink") && stage.extra == 0) throw NotComputed{"a sink takes part of each row"};
        if (stage.over == '?') throw NotComputed{"the axis of the softmax is unknown"};
        Numbers numbers = input(stage, 0);
        const auto is_nan = [](double x) { return std::isnan(x); };
        const bool zero = stage.empty_is_zero && std::none_of(numbers.values.begin(), numbers.values.end(), is_nan);
        numbers = softmax_along(std::move(numbers), stage.over);
        if (zero) std::replace_if(numbers.values.begin(), numbers.values.end(), is_nan, 0.0);
        return numbers;
    }
    if (stage.op == "concat") return joined(stage);
    if (stage.op == "cast") return input(stage, 0);
    if (stage.op == "add" && stage.inputs.size() == 2) {
        Numbers a = input(stage, 0), b = input(stage, 1);
        expect_to_fit(a, b);
        return sum_of(std::move(a), std::move(b));
    }
    if (!stage.kernel.empty()) return inside_kernel(stage);
    throw NotComputed{no_arithmetic(stage)};
}

Numbers Follower::joined(const RecordedStage& stage) {
    const bool width_is_outer = stage.channels == "DH" || stage.channels == "EH";
    const bool usual = stage.channels == "HD" || stage.channels == "HE" || (attention_.size('H') == 1 && stage.channels.size() == 1);
    if (!usual && !width_is_outer) throw NotComputed{"how its heads were joined is not known"};
    return joined_heads(input(stage, 0), width_is_outer);
}

std::vector<double> Follower::parameter(const RecordedStage& stage, std::size_t place) const {
    const std::optional<NamedArray> found = place < stage.parameters.size() ? parameter_(stage.parameters[place]) : std::nullopt;
    if (!found) throw NotComputed{kUnknownParameters};
    return values_as<double>(*found, step_.source());
}

/// PyTorch's kernels of whole layers: weights are [out, in], norms are those of LayerNorm, and GELU is the exact one.
Numbers Follower::inside_kernel(const RecordedStage& stage) {
    if (stage.op == "linear") return mapped_in_kernel(stage);
    Numbers before = input(stage, 0);
    if (stage.op == "activation" && stage.called == "relu") return bent(std::move(before), Curve::Relu);
    if (stage.op == "activation" && stage.called == "gelu") return bent(std::move(before), Curve::Gelu);
    if (stage.op != "norm" || std::isnan(stage.eps)) throw NotComputed{no_arithmetic(stage)};
    const NormRule rule{.gain = parameter(stage, 0), .shift = parameter(stage, 1), .has_mean = true, .eps = stage.eps};
    for (const std::vector<double>* each : {&rule.gain, &rule.shift})
        if (before.shape.empty() || std::ssize(*each) != before.shape.back()) throw NotComputed{"its parameters have another size"};
    return normed(std::move(before), rule);
}

/// Queries, keys and values have rows of one weight, one after another.
Numbers Follower::mapped_in_kernel(const RecordedStage& stage) {
    const Numbers x = input(stage, 0);
    const std::optional<NamedArray> weight = stage.parameters.empty() ? std::nullopt : parameter_(stage.parameters[0]);
    const std::optional<NamedArray> bias = stage.parameters.size() < 2 ? std::nullopt : parameter_(stage.parameters[1]);
    if (!weight || (stage.parameters.size() > 1 && !bias)) throw NotComputed{kUnknownParameters};
    const bool fits =
        x.axes == "BTC" && weight->shape.size() == 2 && weight->shape[1] == x.size('C') && (!bias || bias->count() == weight->shape[0]);
    if (!fits) throw NotComputed{"its parameters have another size"};
    const std::size_t role = stage.axes == "BTC" ? 0 : std::string_view("qkv").find(stage.name);
    const bool is_part = stage.axes != "BTC";
    const std::int64_t width = is_part ? attention_.size('H') * attention_.size('D') : weight->shape[0];
    if (role > 2 || width <= 0 || weight->shape[0] != (is_part ? 3 * width : width)) throw NotComputed{kUnknownChannels};
    std::vector<std::int64_t> shape{x.size('B'), x.size('T'), width};
    if (is_part) shape = {x.size('B'), attention_.size('H'), x.size('T'), attention_.size('D')};
    std::int64_t count = 1;
    for (const std::int64_t size : shape)
        if (size > kMostNumbers || (count *= std::max<std::int64_t>(size, 1)) > kMostNumbers) throw NotComputed{"too large to be checked"};
    return mapped(x, {*weight, bias ? &*bias : nullptr, false, static_cast<std::int64_t>(role) * width}, stage.axes, shape, step_.source());
}

Numbers Follower::after_dropout(const RecordedStage& stage, const Numbers& recorded) {
    if (std::isnan(stage.rate)) throw NotComputed{"the rate of the dropout is not known"};
    Numbers kept = scaled_by(input(stage, 0), stage.rate < 1 ? 1 / (1 - stage.rate) : 0);
    if (kept.values.size() != recorded.values.size()) throw NotComputed{"its input has another shape"};
    for (std::size_t i = 0; i < kept.values.size(); ++i)
        if (recorded.values[i] == 0) kept.values[i] = 0;
    return kept;
}

/// A linear map that does not fit is not wrong: its channels may be in an order that is not known here.
StageCheck Follower::checked_linear(const RecordedStage& stage, const Numbers& recorded, StageCheck result) {
    if (fitting_map(stage, recorded)) result.outcome = Outcome::Follows;
    else result.reason = kUnknownChannels;
    return result;
}

std::optional<FittingMap> Follower::fitting_map(const RecordedStage& stage, const Numbers& recorded) {
    if (stage.parameters.empty()) throw NotComputed{"its parameters are not known"};
    std::optional<NamedArray> weight = parameter_(stage.parameters[0]);
    const std::optional<NamedArray> bias = stage.parameters.size() > 1 ? parameter_(stage.parameters[1]) : std::nullopt;
    if (!weight || (stage.parameters.size() > 1 && !bias)) throw NotComputed{kUnknownParameters};
    const Numbers x = input(stage, 0);
    const std::int64_t positions = std::max(recorded.size('T'), recorded.size('S'));
    if (weight->shape.size() != 2 || (x.axes != "BTC" && x.axes != "TC")) throw NotComputed{"it is no product with a matrix"};
    if (x.size('T') != positions || x.size('B') != recorded.size('B')) throw NotComputed{"its input has other axes"};
    const std::int64_t width = recorded.shape.back(), own = std::max(recorded.size('H'), recorded.size('G')) * width;
    const std::int64_t of_queries = attention_.size('H') * attention_.size('D');
    FittingMap fitting{std::move(*weight), bias};
    for (const bool transposed : {false, true}) {
        const std::int64_t in = fitting.weight.shape[transposed ? 0 : 1], out = fitting.weight.shape[transposed ? 1 : 0];
        if (in != x.size('C') || (bias && bias->count() != out)) continue;
        for (const std::int64_t first : {std::int64_t{0}, of_queries, out - own}) {
            if (first < 0 || first + own > out) continue;
            fitting.transposed = transposed;
            fitting.first = first;
            if (follows(recorded, mapped(x, fitting.map(), recorded.axes, recorded.shape, step_.source()))) return fitting;
        }
    }
    return {};
}

}  // namespace attn::recording
