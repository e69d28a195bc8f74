#include "engine/recording/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/io/file_error.hpp"

namespace attn::recording {
namespace {

/// Goes through the cells of a tensor of given letters and sizes, and knows where each cell reads in an operand that lacks some of them.
class CellWalk {
public:
    CellWalk(const std::string& axes, std::vector<std::int64_t> shape) : axes_(axes), shape_(std::move(shape)), cell_(axes.size(), 0) {}

    std::int64_t count() const {
        std::int64_t count = 1;
        for (const std::int64_t size : shape_) count *= size;
        return count;
    }
    std::int64_t at(char letter) const {
        const std::size_t axis = axes_.find(letter);
        return axis == std::string::npos ? 0 : cell_[axis];
    }
    void next() {
        for (std::size_t axis = cell_.size(); axis-- > 0;) {
            if (++cell_[axis] < shape_[axis]) return;
            cell_[axis] = 0;
        }
    }

private:
    const std::string& axes_;
    std::vector<std::int64_t> shape_, cell_;
};

/// Where an operand is read for a cell, the letter `summed` left out.
std::int64_t offset_in(const Numbers& operand, const CellWalk& cell, char summed, std::int64_t repeat) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < operand.axes.size(); ++axis) {
        const std::int64_t size = operand.shape[axis];
        std::int64_t index = 0;
        if (size > 1 && operand.axes[axis] != summed)
            index = operand.axes[axis] == 'G' ? cell.at('H') / repeat : cell.at(operand.axes[axis]);
        offset = offset * size + std::min(index, size - 1);
    }
    return offset;
}

std::int64_t stride_of(const Numbers& operand, char letter) {
    std::int64_t stride = 1;
    for (std::size_t axis = operand.axes.size(); axis-- > 0;) {
        if (operand.axes[axis] == letter) return operand.shape[axis] > 1 ? stride : 0;
        stride *= operand.shape[axis];
    }
    return 0;
}

Numbers empty_numbers(const std::string& axes, std::vector<std::int64_t> shape, double eps) {
    Numbers made{axes, std::move(shape), {}, {}, eps};
    std::size_t count = 1;
    for (const std::int64_t size : made.shape) count *= static_cast<std::size_t>(size);
    made.values.resize(count);
    made.slack.resize(count);
    return made;
}

std::size_t place(std::int64_t offset) { return static_cast<std::size_t>(offset); }

/// Rounding of `steps` operations on numbers of this size.
double rounding(double eps, double steps, double size) { return std::isfinite(size) ? eps * steps * size : 0; }

}  // namespace

std::int64_t Numbers::size(char letter) const {
    const std::size_t axis = axes.find(letter);
    return axis == std::string::npos ? 1 : shape[axis];
}

double eps_of(DType dtype) {
    switch (dtype) {
    case DType::F64:
        return std::numeric_limits<double>::epsilon();
    case DType::F32:
        return std::numeric_limits<float>::epsilon();
    case DType::F16:
        return std::ldexp(1.0, -10);
    case DType::BF16:
        return std::ldexp(1.0, -7);
    default:
        return 0;
    }
}

double rounded(double number, double eps) {
    if (eps == eps_of(DType::F32)) return static_cast<double>(static_cast<float>(number));
    const bool is_half = eps == eps_of(DType::F16);
    if ((!is_half && eps != eps_of(DType::BF16)) || !std::isfinite(number) || number == 0) return number;
    int exponent = 0;
    std::frexp(number, &exponent);
    // Below the smallest normal number, the distance between numbers stays the same.
    const double gap = std::ldexp(eps, std::max(exponent - 1, is_half ? -14 : -126));
    const double nearest = std::nearbyint(number / gap) * gap;
    const double largest = is_half ? 65504 : static_cast<double>(std::numeric_limits<float>::max());
    return std::abs(nearest) > largest ? std::copysign(std::numeric_limits<double>::infinity(), number) : nearest;
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

Numbers numbers_of(const NamedArray& array, const std::string& axes, const std::string& source) {
    if (array.shape.size() != axes.size())
        throw FileError(FileFault::Schema, source, "",
                        "\"" + escaped(array.name) + "\" has the shape " + shape_text(array.shape) + "; expected the axes " +
                            escaped(axes));
    Numbers numbers{axes, array.shape, values_as<double>(array, source), {}, eps_of(array.dtype)};
    numbers.slack.assign(numbers.values.size(), 0);
    return numbers;
}

Numbers product_over(const Numbers& a, const Numbers& b, const std::string& axes, char summed, std::int64_t repeat) {
    std::vector<std::int64_t> shape;
    for (const char letter : axes)
        shape.push_back(std::max({a.size(letter), b.size(letter), letter == 'H' ? std::max(a.size('G'), b.size('G')) * repeat : 1}));
    Numbers result = empty_numbers(axes, shape, std::max(a.eps, b.eps));
    const std::int64_t terms = std::max(a.size(summed), b.size(summed));
    const std::int64_t step_a = stride_of(a, summed), step_b = stride_of(b, summed);
    CellWalk cell(axes, shape);
    for (std::size_t i = 0; i < result.values.size(); ++i, cell.next()) {
        const std::int64_t from_a = offset_in(a, cell, summed, repeat), from_b = offset_in(b, cell, summed, repeat);
        double sum = 0, size = 0, slack = 0;
        for (std::int64_t term = 0; term < terms; ++term) {
            const std::size_t at_a = place(from_a + term * step_a), at_b = place(from_b + term * step_b);
            const double x = a.values[at_a], y = b.values[at_b], product = x * y;
            sum += product;
            size += std::abs(product);
            slack += std::abs(x) * b.slack[at_b] + std::abs(y) * a.slack[at_a] + a.slack[at_a] * b.slack[at_b];
        }
        result.values[i] = sum;
        result.slack[i] = slack + rounding(result.eps, static_cast<double>(terms) + 2, size);
    }
    return result;
}

Numbers of_length_one(Numbers numbers, char letter) {
    constexpr double kShortest = 1e-8;
    const std::int64_t length = numbers.size(letter), step = std::max<std::int64_t>(stride_of(numbers, letter), 1);
    for (std::int64_t vector = 0; vector < numbers.count() / std::max<std::int64_t>(length, 1); ++vector) {
        const std::int64_t first = vector / step * step * length + vector % step;
        const auto at = [&](std::int64_t i) { return place(first + i * step); };
        double squares = 0, slack = 0;
        for (std::int64_t i = 0; i < length; ++i) squares += numbers.values[at(i)] * numbers.values[at(i)];
        for (std::int64_t i = 0; i < length; ++i) slack = std::max(slack, numbers.slack[at(i)]);
        const double size = std::max(std::sqrt(squares), kShortest);
        for (std::int64_t i = 0; i < length; ++i) {
            numbers.values[at(i)] /= size;
            // The length is off by no more than all of its numbers together.
            numbers.slack[at(i)] = (numbers.slack[at(i)] + std::sqrt(static_cast<double>(length)) * slack) / size +
                                   rounding(numbers.eps, static_cast<double>(length) + 4, std::abs(numbers.values[at(i)]));
        }
    }
    return numbers;
}

Numbers scaled_by(Numbers numbers, double factor) {
    for (std::size_t i = 0; i < numbers.values.size(); ++i) {
        numbers.values[i] *= factor;
        numbers.slack[i] = numbers.slack[i] * std::abs(factor) + rounding(numbers.eps, 2, std::abs(numbers.values[i]));
    }
    return numbers;
}

Numbers capped_at(Numbers numbers, double cap) {
    for (std::size_t i = 0; i < numbers.values.size(); ++i) {
        const double x = numbers.values[i];
        numbers.values[i] = cap * std::tanh(x / cap);
        numbers.slack[i] += rounding(numbers.eps, 4, std::abs(x)) + rounding(numbers.eps, 4, std::abs(numbers.values[i]));
    }
    return numbers;
}

Numbers softmax_along(Numbers numbers, char letter) {
    const std::int64_t length = numbers.size(letter), step = stride_of(numbers, letter);
    if (step == 0 && length > 1) return numbers;
    const std::int64_t rows = numbers.count() / std::max<std::int64_t>(length, 1);
    const std::int64_t inner = std::max<std::int64_t>(step, 1);
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t first = row / inner * inner * length + row % inner;
        const auto at = [&](std::int64_t i) { return place(first + i * inner); };
        double most = -std::numeric_limits<double>::infinity(), sum = 0, slack = 0;
        for (std::int64_t i = 0; i < length; ++i) most = std::max(most, numbers.values[at(i)]);
        for (std::int64_t i = 0; i < length; ++i) slack = std::max(slack, numbers.slack[at(i)]);
        for (std::int64_t i = 0; i < length; ++i) sum += std::exp(numbers.values[at(i)] - most);
        for (std::int64_t i = 0; i < length; ++i) {
            const double below = most - numbers.values[at(i)];
            const double share = std::exp(-below) / sum;
            numbers.values[at(i)] = share;
            const double steps = 8 + static_cast<double>(length) + (std::isfinite(below) ? below : 0);
            numbers.slack[at(i)] = share * std::expm1(2 * slack) + rounding(numbers.eps, steps, share);
        }
    }
    return numbers;
}

Numbers filled(Numbers numbers, const Numbers& mask, bool hidden, double fill) {
    CellWalk cell(numbers.axes, numbers.shape);
    for (std::size_t i = 0; i < numbers.values.size(); ++i, cell.next()) {
        if ((mask.values[place(offset_in(mask, cell, 0, 1))] != 0) != hidden) continue;
        numbers.values[i] = fill;
        numbers.slack[i] = 0;
    }
    return numbers;
}

Numbers filled_ahead(Numbers numbers, double fill) {
    CellWalk cell(numbers.axes, numbers.shape);
    for (std::size_t i = 0; i < numbers.values.size(); ++i, cell.next()) {
        if (cell.at('S') <= cell.at('T')) continue;
        numbers.values[i] = fill;
        numbers.slack[i] = 0;
    }
    return numbers;
}

Numbers plus(Numbers numbers, const Numbers& bias) {
    CellWalk cell(numbers.axes, numbers.shape);
    for (std::size_t i = 0; i < numbers.values.size(); ++i, cell.next()) {
        const std::size_t at = place(offset_in(bias, cell, 0, 1));
        numbers.values[i] += bias.values[at];
        numbers.slack[i] += bias.slack[at] + rounding(numbers.eps, 1, std::abs(numbers.values[i]));
    }
    return numbers;
}

Numbers sum_of(Numbers a, Numbers b) { return a.count() < b.count() ? sum_of(std::move(b), std::move(a)) : plus(std::move(a), b); }

Numbers times(Numbers numbers, const Numbers& factors) {
    CellWalk cell(numbers.axes, numbers.shape);
    for (std::size_t i = 0; i < numbers.values.size(); ++i, cell.next()) {
        const double factor = factors.values[place(offset_in(factors, cell, 0, 1))];
        numbers.values[i] *= factor;
        numbers.slack[i] = numbers.slack[i] * std::abs(factor) + rounding(numbers.eps, 1, std::abs(numbers.values[i]));
    }
    return numbers;
}

Numbers normed(Numbers numbers, const NormRule& rule) {
    const std::int64_t width = numbers.shape.empty() ? 0 : numbers.shape.back();
    for (std::int64_t row = 0; width > 0 && row < numbers.count() / width; ++row) {
        const std::span<double> x(numbers.values.data() + row * width, place(width)),
            slack(numbers.slack.data() + row * width, place(width));
        double mean = 0, size_of_mean = 0, squares = 0;  // a mean is rounded by the size of what it is the mean of
        for (const double each : x) {
            mean += each / static_cast<double>(width);
            size_of_mean += std::abs(each) / static_cast<double>(width);
        }
        if (!rule.has_mean) mean = size_of_mean = 0;
        for (const double each : x) squares += (each - mean) * (each - mean) / static_cast<double>(width);
        const double scale = 1 / std::sqrt(squares + rule.eps);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double gain = rule.gain.empty() ? 1 : rule.gain[i], shift = rule.shift.empty() ? 0 : rule.shift[i];
            const double size = (std::abs(x[i]) + size_of_mean) * scale * std::abs(gain) + std::abs(shift);
            x[i] = (x[i] - mean) * scale * gain + shift;
            slack[i] = slack[i] * scale * std::abs(gain) + rounding(numbers.eps, static_cast<double>(width) + 8, size);
        }
    }
    return numbers;
}

Numbers bent(Numbers numbers, Curve curve) {
    const auto at = [curve](double x) {
        switch (curve) {
        case Curve::Relu:
            return x < 0 ? 0.0 : x;
        case Curve::Gelu:
            return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
        case Curve::GeluTanh:
            return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
        case Curve::Silu:
            return x / (1 + std::exp(-x));
        case Curve::Tanh:
            return std::tanh(x);
        case Curve::Sigmoid:
            break;
        }
        return 1 / (1 + std::exp(-x));
    };
    for (std::size_t i = 0; i < numbers.values.size(); ++i) {
        const double x = numbers.values[i];
        numbers.values[i] = at(x);
        // None of these curves is steeper than 1.2.
        numbers.slack[i] = 1.2 * numbers.slack[i] + rounding(numbers.eps, 8, std::abs(x) + std::abs(numbers.values[i]));
    }
    return numbers;
}

Numbers joined_heads(const Numbers& context, bool width_is_outer) {
    const char width = context.axes.empty() ? 'D' : context.axes.back();
    const std::int64_t heads = context.size('H'), size = context.size(width);
    Numbers joined = empty_numbers("BTC", {context.size('B'), context.size('T'), heads * size}, context.eps);
    CellWalk cell(context.axes, context.shape);
    for (std::size_t i = 0; i < context.values.size(); ++i, cell.next()) {
        const std::int64_t head = cell.at('H'), d = cell.at(width);
        const std::int64_t channel = width_is_outer ? d * heads + head : head * size + d;
        const std::size_t to = place((cell.at('B') * joined.shape[1] + cell.at('T')) * joined.shape[2] + channel);
        joined.values[to] = context.values[i];
        joined.slack[to] = context.slack[i];
    }
    return joined;
}

Numbers mapped(const Numbers& x, const LinearMap& map, const std::string& axes, std::span<const std::int64_t> shape,
               const std::string& source) {
    const std::vector<double> w = values_as<double>(map.weight, source);
    const std::vector<double> b = map.bias == nullptr ? std::vector<double>() : values_as<double>(*map.bias, source);
    const std::int64_t in = x.size('C'), columns = map.weight.shape.at(1);
    Numbers result = empty_numbers(axes, {shape.begin(), shape.end()}, std::max(x.eps, eps_of(map.weight.dtype)));
    const char width = axes.back();
    CellWalk cell(axes, result.shape);
    for (std::size_t i = 0; i < result.values.size(); ++i, cell.next()) {
        const std::int64_t position = std::max(cell.at('T'), cell.at('S')), head = std::max(cell.at('H'), cell.at('G'));
        const std::int64_t channel = map.first + head * result.size(width) + cell.at(width);
        const std::int64_t row = (cell.at('B') * x.size('T') + position) * in;
        double sum = b.empty() ? 0 : b[place(channel)], size = std::abs(sum), slack = 0;
        for (std::int64_t c = 0; c < in; ++c) {
            const double factor = w[place(map.transposed ? c * columns + channel : channel * columns + c)];
            const double product = x.values[place(row + c)] * factor;
            sum += product;
            size += std::abs(product);
            slack += std::abs(factor) * x.slack[place(row + c)];
        }
        result.values[i] = sum;
        result.slack[i] = slack + rounding(result.eps, static_cast<double>(in) + 3, size);
    }
    return result;
}

}  // namespace attn::recording
