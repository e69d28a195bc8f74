/// Operations on scores between scaling and masking, and on logits: soft cap and position biases.

#include <algorithm>
#include <cmath>

#include "engine/model/steps/steps.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {
namespace {

/// Calls bend(first, count) for parts of the [0, size) numbers.
template <class Function>
void for_parts(std::int64_t size, const Function& bend) {
    constexpr std::int64_t kPart = 4096, kCost = 20;
    parallel_for((size + kPart - 1) / kPart, kPart * kCost,
                 [&](std::int64_t part) { bend(part * kPart, std::min(kPart, size - part * kPart)); });
}

template <class Scalar>
void cap_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>& x = program.input(step.first);
    Tensor<Scalar>& out = program.value(step.first);
    out.resize(x.shape());
    const auto cap = static_cast<Scalar>(program.node(step.first).plan->settings.cap);
    for_parts(x.size(), [&](std::int64_t first, std::int64_t n) {
        for (std::int64_t i = first; i < first + n; ++i) out.data()[i] = cap * std::tanh(x.data()[i] / cap);
    });
}

/// d(cap tanh(x / cap)) = 1 - tanh^2
template <class Scalar>
void cap_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>&x = program.input(step.first), &dy = program.gradient(step.first);
    const auto cap = static_cast<Scalar>(program.node(step.first).plan->settings.cap);
    program.contribute(program.node(step.first).inputs[0], [&](Tensor<Scalar>& dx) {
        dx.resize(x.shape());
        for_parts(x.size(), [&](std::int64_t first, std::int64_t n) {
            for (std::int64_t i = first; i < first + n; ++i) {
                const Scalar bent = std::tanh(x.data()[i] / cap);
                dx.data()[i] = dy.data()[i] * (1 - bent * bent);
            }
        });
    });
}

/// What each head adds to a score by the key's offset from the query, for offsets from -before on.
struct BiasByOffset {
    std::int64_t before = 0, offsets = 0;
    std::vector<double> values{};  ///< [H,offsets]

    const double* of_head(std::int64_t head) const { return values.data() + head * offsets + before; }
};

template <class Scalar>
BiasByOffset bias_by_offset(const Program<Scalar>& program, std::size_t place, const Shape& map) {
    const Node<Scalar>& node = program.node(place);
    const OpSettings& settings = node.plan->settings;
    const std::int64_t heads = map[1].size, first = program.first_position();
    BiasByOffset out{first + map[2].size - 1, first + map[2].size - 1 + map[3].size, {}};
    std::vector<double> table;
    if (node.weight) {
        table.resize(static_cast<std::size_t>(node.weight.rows * heads));
        copy_numbers(node.weight, table.data());
    }
    for (std::int64_t head = 0; head < heads; ++head)
        for (std::int64_t offset = -out.before; offset < map[3].size; ++offset) {
            if (table.empty()) out.values.push_back(settings.slopes[static_cast<std::size_t>(head)] * static_cast<double>(offset));
            else out.values.push_back(table[static_cast<std::size_t>(bucket_of(settings.buckets, offset) * heads + head)]);
        }
    return out;
}

template <class Scalar>
void bias_forward(Program<Scalar>& program, const Step<Scalar>& step) {
    const Tensor<Scalar>& x = program.input(step.first);
    Tensor<Scalar>& out = program.value(step.first);
    out.resize(x.shape());
    const std::int64_t heads = x.shape()[1].size, queries = x.shape()[2].size, keys = x.shape()[3].size;
    const BiasByOffset bias = bias_by_offset(program, step.first, x.shape());
    parallel_for(x.shape()[0].size * heads, queries * keys, [&](std::int64_t bh) {
        for (std::int64_t t = 0; t < queries; ++t) {
            const double* const added = bias.of_head(bh % heads) - program.first_position() - t;
            const std::int64_t row = (bh * queries + t) * keys;
            for (std::int64_t s = 0; s < keys; ++s) out.data()[row + s] = x.data()[row + s] + static_cast<Scalar>(added[s]);
        }
    });
}

/// Gradient of the bucket table, summed one head after another in the order of cells.
template <class Scalar>
void add_to_buckets(Program<Scalar>& program, std::size_t place) {
    const Tensor<Scalar>& dy = program.gradient(place);
    const BucketRule& rule = program.node(place).plan->settings.buckets;
    const Shape& map = dy.shape();
    const std::int64_t heads = map[1].size, queries = map[2].size, keys = map[3].size;
    Scalar* const dtable = program.dweight(place);
    std::vector<std::int64_t> buckets;
    for (std::int64_t offset = 1 - queries; offset < keys; ++offset) buckets.push_back(bucket_of(rule, offset));
    parallel_for(heads, map[0].size * queries * keys, [&](std::int64_t head) {
        for (std::int64_t b = 0; b < map[0].size; ++b)
            for (std::int64_t t = 0; t < queries; ++t)
                for (std::int64_t s = 0; s < keys; ++s)
                    dtable[buckets[static_cast<std::size_t>(s - t + queries - 1)] * heads + head] += dy(b, head, t, s);
    });
}

template <class Scalar>
void bias_backward(Program<Scalar>& program, const Step<Scalar>& step) {
    if (program.dweight(step.first) != nullptr) add_to_buckets(program, step.first);
    program.pass_on(step.first, program.node(step.first).inputs[0]);
}

}  // namespace

template <class Scalar>
StepFunctions<Scalar> cap_step() {
    return {&cap_forward<Scalar>, &cap_backward<Scalar>};
}
template <class Scalar>
StepFunctions<Scalar> bias_step() {
    return {&bias_forward<Scalar>, &bias_backward<Scalar>};
}
template StepFunctions<float> cap_step();
template StepFunctions<double> cap_step();
template StepFunctions<float> bias_step();
template StepFunctions<double> bias_step();

}  // namespace attn
